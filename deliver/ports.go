// Package deliver types decided texts into panes: one queue and one lease per target, the state machine of a delivery, and
// its proof. This is where harm is done, so everything is checked again here, in the moment of typing.
package deliver

import (
	"context"
	"time"

	"github.com/madohub/madohub/deliver/typist"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session"
	"github.com/madohub/madohub/tmux"
)

// Sessions tells what is in a target's pane now.
type Sessions interface {
	typist.Sessions
	// Mark notes where the agent's own record stands.
	Mark(ctx context.Context, agent string) (session.Mark, error)
	// Terminal is the tmux connection of a socket.
	Terminal(socket string) (tmux.Conn, bool)
}

// Store keeps what must survive. Every method is one transaction that is on disk when it returns.
type Store interface {
	// Queue lists the waiting items of all targets, oldest first.
	Queue(ctx context.Context) ([]record.Item, error)
	// Hold notes why an item waits; it writes only if outcome, reason or detail changed.
	Hold(ctx context.Context, rec *record.Record) error
	// Intend writes the intent and counts the round (rec.Round is set from the counter) in one transaction.
	Intend(ctx context.Context, rec *record.Record, in record.Intent) error
	// Advance notes how far an intent has come.
	Advance(ctx context.Context, in record.Intent) error
	// Finish writes the final outcome, removes queue row and intent, and gives the round back if refund is set.
	Finish(ctx context.Context, rec *record.Record, refund bool) error
	// Requeue removes the intent, gives the round back, and leaves the item in the queue: provably no key was sent.
	Requeue(ctx context.Context, rec *record.Record) error
	// Intents lists what a crash left unfinished, with the items they belong to.
	Intents(ctx context.Context) ([]record.Unfinished, error)
	// Record reads one record.
	Record(ctx context.Context, id string) (record.Record, error)
	// Retry puts a record that a person settled back into the queue (resolve --retry): the record is held again and has a
	// queue row. The round that it counted stays counted.
	Retry(ctx context.Context, it record.Item) error
	// Amend changes a final record (queued_by_target and typed upwards to delivered, unknown by a person's word).
	Amend(ctx context.Context, rec *record.Record) error
}

// Policy is asked before every attempt: cooldown, spacing, pause, approval. It is the route engine.
type Policy interface {
	Check(ctx context.Context, it record.Item, now time.Time) Verdict
}

// Verdict is what a gate says. The zero Verdict lets the item go.
type Verdict struct {
	Outcome record.Outcome // Held to wait, Blocked or Cancelled to end it
	Reason  record.Reason
	Detail  string
	Retry   time.Time // for Held: when to ask again; zero: at the next sweep
}
