// Package route is the engine: it turns events of agents into decisions, guards loops, and gives decided texts to the
// queue. Nothing is typed that did not pass here, and nothing is decided here that is not in the log.
package route

import (
	"context"
	"time"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/record"
)

// Agents tells what the engine must know of agents.
type Agents interface {
	// Agent is the last known state of an agent; false if it is not configured with a pane.
	Agent(name string) (Agent, bool)
	// Output are the logical lines of an agent's terminal, without input box and status area.
	Output(ctx context.Context, name string) ([]string, error)
	// LastTurn is the newest ended turn of an agent.
	LastTurn(name string) (agent.Turn, bool)
}

// Agent is an agent as rules see it.
type Agent struct {
	Name, Kind, Cwd string
	State           record.State
	Evidence        string
	SessionID       string
	Gone            bool
	Shell           bool
	Pane            string // names the pane across servers; "" if it is not known
}

// EventKind says what happened.
type EventKind int

// The kinds of events.
const (
	AgentFound  EventKind = iota // base line: what stands in the transcript now fires nothing
	TurnOpened                   // a turn began
	TurnEnded                    // a turn settled
	PromptTaken                  // the agent took a prompt (by a person, or a delivery of ours)
	Activity                     // silence was broken
)

// Event is one change of one agent.
type Event struct {
	Kind     EventKind
	Agent    string
	At       time.Time // when it happened, by the agent's own record where there is one
	Turn     agent.Turn
	Prompt   agent.Prompt
	Evidence string
	Session  string // the agent's session when it happened; "": the session that Agents names now
}

// Store keeps decisions and counters. Every method is one transaction that is on disk when it returns.
type Store interface {
	// Decide writes a new record, its queue row (nil if nothing is to be typed), the connection's newest turn, and
	// changes of other counters (loops that end) in one transaction. False if this connection already decided
	// this turn and nobody fired it by hand, or if the operation was asked for before.
	Decide(ctx context.Context, d record.Decided) (bool, error)
	Counters(ctx context.Context) (map[string]record.Counter, error)
	// SetCounter writes one counter (pause, resume, rearm, base line). A delivery may be counted between the reading and
	// the writing of a counter: a Round other than 0 and LastDelivery are the store's own and are not taken from c.
	SetCounter(ctx context.Context, c record.Counter) error
	// Waiting is the queued item of a connection, if there is one that was not begun.
	Waiting(ctx context.Context, connection string) (record.Item, bool, error)
	// Record reads one record; an error if there is none.
	Record(ctx context.Context, id string) (record.Record, error)
	// QueueLen counts the items that wait for a target.
	QueueLen(ctx context.Context, target string) (int, error)
	// Ours reports whether a text is one that MadoHub has typed into this agent since a time.
	Ours(ctx context.Context, agent, text string, since time.Time) (bool, error)
}

// Deliveries is the queue of texts.
type Deliveries interface {
	// Wake tells that the queue of a target has changed.
	Wake(target string)
}
