// Package typist types one text into one pane: guarded by tmux itself in the moment of typing, compared with the input box
// before it is submitted, proven by the target's own record afterwards. It decides nothing of whether and when: that is
// deliver's; and it keeps nothing: what must survive it hands to its Job's functions.
package typist

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session"
	"github.com/madohub/madohub/tmux"
)

// Sessions tells what is in a target's pane now.
type Sessions interface {
	// Look inspects the agent afresh: list, process, records, screen and input box. It does not use the last tick.
	Look(ctx context.Context, agent string) (session.View, error)
	// Taken looks for a text in the agent's own record after a mark.
	Taken(ctx context.Context, agent string, mark session.Mark, text string) (session.Taken, error)
	// Left says why the agent of a view can't read its terminal any more: it has ended, is suspended, or another program has
	// the terminal. "": it can, as far as is known. It costs microseconds and is asked before every piece but the first.
	Left(v session.View) string
}

// Typing is how one agent is typed into: its kind's facts with the configuration's overrides.
type Typing struct {
	agent.Text
	Boxless bool // the kind's input box can't be read from its screen
}

// End is how a delivery, or an attempt at one, ended.
type End struct {
	Outcome record.Outcome
	Reason  record.Reason
	Detail  string
	Proof   record.Proof
	Refund  bool // provably no key was sent
	Requeue bool // provably no key was sent: back to the queue, look again
	Leave   bool // stays on disk as it is: the next run settles it
}

// Job is one text for one pane, after its intent is on disk. It belongs to one goroutine.
type Job struct {
	Target   string
	Sessions Sessions
	Conn     tmux.Conn
	Typing   Typing
	Text     string // clean
	Intent   record.Intent
	View     session.View // as the gate saw it; after a crash only its Server is known
	Mark     session.Mark
	Gated    time.Time // when the gate was passed
	Before   string    // what stood before the cursor at the gate, for a target whose box can't be read
	Expires  time.Time // how long a typed text waits for a safe moment to be submitted
	Log      *zap.Logger

	Hold    func(ctx context.Context, reason record.Reason, detail string) // notes why a typed text waits
	Advance func(ctx context.Context, in record.Intent)                    // puts a stage on disk
	Waiting func(on bool) (cancelled bool)                                 // the text is typed and waits for a safe moment
	Step    func(name, note string)

	// Set on the way.
	Began     time.Time // the first key
	Submitted time.Time // the submit key
	Proved    time.Time
	Trouble   bool // a tmux client failed: it may have left a buffer

	pieces    []string
	pressing  bool // a submit key was sent, or may have been
	recovered bool // after a crash: no second submit key
}

// Deliver types, submits and proves. It is the critical section: ctx tells only that the daemon wants to stop, and then the
// rest is typed without the pauses of a person.
func (j *Job) Deliver(ctx context.Context) End {
	j.pieces = split(j.Text, j.Typing.Text)
	j.Began = time.Now()
	if e, ok := j.typeFrom(ctx, 0); !ok {
		return e
	}
	return j.finish(ctx)
}

// finish submits a text that is in the input and proves it.
func (j *Job) finish(ctx context.Context) End {
	if e, ok := j.enter(ctx); !ok {
		return e
	}
	return j.prove(ctx, proveFor)
}

// Prepare makes a text fit to be typed, or says why it never will be. It returns the text, its pieces, and how much cleaning
// took out.
func Prepare(raw string, typ Typing, shell bool, limit int) (text string, pieces []string, removed int, e End) {
	text, removed = Clean(raw)
	if shell {
		var n int
		text, n = spaced(text)
		removed += n
	}
	blocked := func(r record.Reason, detail string) (string, []string, int, End) {
		return "", nil, 0, End{Outcome: record.Blocked, Reason: r, Detail: detail}
	}
	if strings.TrimSpace(text) == "" {
		return blocked(record.EmptyText, "nothing is left of the text after cleaning")
	}
	if limit > 0 && len(text) > limit {
		return blocked(record.TooLong, fmt.Sprintf("%d bytes, limits.max_text is %d", len(text), limit))
	}
	if lines := strings.Count(text, "\n") + 1; lines > 1 && !typ.MultiLine {
		return blocked(record.MultiLine, fmt.Sprintf("%d lines, and each would run as a command: see multi_line", lines))
	}
	if typ.Disarm != nil {
		text = typ.Disarm(text)
	}
	return text, split(text, typ.Text), removed, End{}
}

// stopped ends a delivery whose text is in the input, wholly or in part, and that may not be submitted.
func (j *Job) stopped(k int, reason record.Reason, why string) End {
	detail := why + "; the text is in its input, not submitted"
	if k < len(j.pieces) {
		line, lines := reached(j.pieces, k)
		detail = fmt.Sprintf("%s; line %d of %d was reached, nothing was submitted", why, line, lines)
	}
	return End{Outcome: record.Typed, Reason: reason, Detail: detail, Proof: record.ProofNone}
}

// lost is the end of a delivery whose pane does not exist any more. While no submit key was sent it is known that nothing was
// submitted; whether a first piece, or the key, that was on its way came before the end is not known.
func (j *Job) lost(ctx context.Context, reason record.Reason, why string) End {
	if j.Intent.Line > 0 && !j.pressing {
		return j.orTaken(ctx, j.stopped(j.Intent.Line, record.NotSubmitted, why))
	}
	return j.orTaken(ctx, End{Outcome: record.Unknown, Reason: reason, Detail: why})
}

// orTaken prefers the agent's own record to what we think.
func (j *Job) orTaken(ctx context.Context, e End) End {
	if t, ok := j.Taken(ctx); ok {
		return t
	}
	return e
}

// marker is what the pane carries once the k-th piece is in it.
func (j *Job) marker(k int) string {
	if k == 0 {
		return j.Intent.Prev
	}
	return fmt.Sprintf("%s%d", MarkerBase(j.Intent), k)
}

// MarkerBase is what the markers of all pieces and keys of an attempt begin with.
func MarkerBase(in record.Intent) string { return fmt.Sprintf("%s.%d.", in.ID, in.Attempt) }

// enterMarker is what the pane carries once the n-th submit key was pressed.
func (j *Job) enterMarker(n int) string { return fmt.Sprintf("%se%d", MarkerBase(j.Intent), n) }

func (j *Job) guard(marker string, cursor *tmux.Cursor, foreground string) tmux.Guard {
	return tmux.Guard{
		Server: j.View.Server, Pane: j.Intent.Pane, PanePID: j.Intent.PanePID, Marker: marker, Cursor: cursor, Command: foreground,
	}
}

// Identity is a server's identity as an intent keeps it.
func Identity(s tmux.Identity) string { return fmt.Sprintf("%d:%d", s.PID, s.Start) }

// logWhy notes for an operator why tmux did nothing.
func (j *Job) logWhy(msg string, err error, why string) {
	j.Trouble = j.Trouble || err != nil
	j.Log.Warn(msg, zap.String("delivery", j.Intent.ID), zap.String("agent", j.Target), zap.String("why", why), zap.Error(err))
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// pause waits, but not once the daemon wants to stop.
func pause(ctx context.Context, wait time.Duration) {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// grace is how long a wait goes on after the daemon was told to stop.
type grace struct{ since time.Time }

// over reports whether a wait has gone on long enough.
func (g *grace) over(ctx context.Context) bool {
	if ctx.Err() != nil && g.since.IsZero() {
		g.since = time.Now()
	}
	return !g.since.IsZero() && time.Since(g.since) >= stopWait
}
