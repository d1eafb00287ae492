package typist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session"
	"github.com/madohub/madohub/tmux"
)

const (
	// boxWait is how long an input box may show something else than our text before it counts: a long paste is drawn late.
	boxWait = 5 * time.Second
	// boxPoll is how often it is looked at meanwhile, unsafePoll how often a target that is not safe is.
	boxPoll    = 150 * time.Millisecond
	unsafePoll = 500 * time.Millisecond
	// secondAfter is the least time before a second submit key. A first one that works shows within 0.35 s on a quiet machine
	// (Claude Code 2.1.332, Codex 0.171.0, 2026-11-30), within 1 s on a busy one, and once took 3.9 s.
	secondAfter = 5 * time.Second
	// maxPresses bounds how often a submit key that tmux refuses is tried again after a fresh look.
	maxPresses = 10
)

// enter presses the submit key once the target is safe and holds exactly our text.
func (j *Job) enter(ctx context.Context) (End, bool) {
	time.Sleep(j.Typing.BeforeSubmit)
	from, to := j.marker(len(j.pieces)), j.enterMarker(1)
	for range maxPresses {
		v, e, ok := j.settle(ctx, len(j.pieces))
		if !ok {
			return e, false
		}
		j.Step("checked", v.Evidence)
		done, e, ok := j.press(ctx, v, from, to)
		if !ok {
			return e, false
		}
		if done {
			j.pressing = true
			j.Submitted = time.Now()
			j.Step("entered", j.Typing.Submit)
			j.advance(ctx, record.StageEntered)
			return End{}, true
		}
		pause(ctx, boxPoll)
	}
	return j.stopped(len(j.pieces), record.NotSubmitted, "the pane kept changing"), false
}

// press sends one submit key under the guard of a look. False without an end: it was refused, nothing was pressed.
func (j *Job) press(ctx context.Context, v session.View, from, to string) (bool, End, bool) {
	res, err := j.Conn.Press(context.WithoutCancel(ctx), tmux.Press{
		Guard: j.guard(from, &tmux.Cursor{X: v.Pane.CursorX, Y: v.Pane.CursorY}, v.Pane.Command), Key: j.Typing.Submit, Marker: to,
	})
	if err == nil && res.Done {
		return true, End{}, true
	}
	j.logWhy("submit key was not pressed", err, res.Why)
	now, pressing := res.Marker, j.pressing
	if err != nil {
		j.pressing = pressing || !errors.Is(err, tmux.ErrNoServer)
		var e End
		var ok bool
		if now, e, ok = j.ask(ctx); !ok {
			return false, e, false
		}
		j.pressing = pressing
	}
	switch now {
	case to:
		return true, End{}, true
	case from:
		return false, End{}, true
	}
	return false, j.orTaken(ctx, j.stopped(len(j.pieces), record.NotSubmitted, cmp.Or(res.Why, "another delivery typed into the pane"))), false
}

// settle waits until the target may take the next key: it is safe, it is the agent that the gate saw, and its input holds
// exactly the first k pieces. A dialog, work, copy mode are waited for until the item expires, with the reason on record;
// something else in the input ends the delivery without a key.
func (j *Job) settle(ctx context.Context, k int) (session.View, End, bool) {
	defer j.Waiting(false)
	var since time.Time // since when it was safe and the input was not ours
	var stop grace
	for {
		if stop.over(ctx) {
			return session.View{}, End{Leave: true}, false
		}
		v, held, e, ok := j.safe(ctx, k)
		switch {
		case !ok:
			return v, e, false
		case held:
			if j.Waiting(true) {
				return v, j.orTaken(ctx, j.stopped(k, record.NotSubmitted, "it was cancelled")), false
			}
			since = time.Time{}
			time.Sleep(unsafePoll)
			continue
		}
		j.Waiting(false)
		c, err := j.content(ctx, v, k)
		if err == nil && partly(c) && j.touched(ctx) {
			return v, j.stopped(k, record.HumanTyped, "a person pressed keys there, and its input shows only a part of the text"), false
		}
		if err == nil && ours(c) {
			return v, End{}, true
		}
		if since.IsZero() {
			since = time.Now()
		}
		if t, ok := j.Taken(ctx); ok && k == len(j.pieces) {
			return v, t, false // a person pressed the key
		}
		if time.Since(since) >= boxWait {
			return v, j.misfit(k, c, err), false
		}
		time.Sleep(boxPoll)
	}
}

// touched reports whether a person may have pressed a key in the pane since the gate. It matters where the box does not show
// the whole text: what is scrolled out of sight can't be compared.
func (j *Job) touched(ctx context.Context) bool {
	last, err := LastKey(context.WithoutCancel(ctx), j.Conn, j.Intent.Pane)
	return err != nil || last.Unix() >= j.Gated.Unix()
}

// misfit is the end of a delivery whose text does not stand in the input as it should.
func (j *Job) misfit(k int, c agent.BoxMatch, err error) End {
	switch {
	case err != nil:
		return j.stopped(k, record.NotSubmitted, err.Error())
	case c == agent.BoxEmpty:
		return j.stopped(k, record.NotSubmitted, "its input does not show the text")
	}
	return j.stopped(k, record.HumanTyped, "its input holds something else than the text")
}

// safe looks afresh. held: not now, and the record says why. Not ok: never again, and the end says why.
func (j *Job) safe(ctx context.Context, k int) (v session.View, held bool, e End, ok bool) {
	wctx := context.WithoutCancel(ctx)
	v, err := j.Sessions.Look(wctx, j.Target)
	expired := !time.Now().Before(j.Expires)
	if err != nil || v.Pane.ID == "" {
		if j.serverLost(wctx) {
			return v, false, j.lost(ctx, record.ServerLost, "the tmux server was lost before it was submitted"), false
		}
	}
	if err != nil {
		if expired || errors.Is(err, session.ErrNotConfigured) {
			return v, false, j.orTaken(ctx, j.stopped(k, record.NotSubmitted, err.Error())), false
		}
		j.Hold(wctx, record.ServerUnreachable, "typed, not submitted: "+err.Error())
		return v, true, End{}, true
	}
	if why := j.replaced(v); why != "" {
		return v, false, j.orTaken(ctx, j.stopped(k, record.NotSubmitted, why)), false
	}
	g := unsafe(v)
	switch {
	case g.Outcome == "":
		return v, false, End{}, true
	case g.Outcome == record.Blocked:
		return v, false, j.orTaken(ctx, j.stopped(k, record.NotSubmitted, g.Detail)), false
	case expired:
		return v, false, j.orTaken(ctx, j.stopped(k, record.NotSubmitted, fmt.Sprintf("it waited too long (%s)", g.Reason))), false
	}
	j.Hold(wctx, g.Reason, strings.TrimSuffix("typed, not submitted: "+g.Detail, ": "))
	return v, true, End{}, true
}

// unsafe is Gate for a target in whose input our own text stands: that is a draft, and a shell whose prompt it hides, or that
// shows a prompt for more lines, can't be told to be idle. There what stands before the cursor must speak for it.
func unsafe(v session.View) End {
	if v.Hold == record.TargetDraft {
		v.Hold = ""
	}
	if v.Shell && v.State == record.StateUnknown && v.Problem == "" && v.Process.PID != 0 {
		v.State = record.StateIdle
		if v.Hold == record.StateIsUnknown {
			v.Hold = ""
		}
	}
	g := Gate(v)
	if g.Outcome == "" && v.Box.Overlay {
		g = End{Outcome: record.Held, Reason: record.TargetDialog, Detail: "something covers its input box"}
	}
	return g
}

// serverLost reports whether the server that the gate saw has ended. It asks more than once: a server may be missed once.
func (j *Job) serverLost(ctx context.Context) bool {
	for range 4 {
		snap, err := j.Conn.List(ctx)
		if err == nil {
			return Identity(snap.Server) != j.Intent.Server
		}
		if !errors.Is(err, tmux.ErrNoServer) {
			return false
		}
		time.Sleep(200 * time.Millisecond)
	}
	return true
}

// replaced says in which way the target is not any more what the gate saw; "" if it is.
func (j *Job) replaced(v session.View) string {
	switch {
	case v.Pane.ID == "":
		return "" // not found at this moment: Gate says what that means
	case Identity(v.Server) != j.Intent.Server:
		return "the tmux server was restarted"
	case v.Pane.ID != j.Intent.Pane || v.Pane.PID != j.Intent.PanePID:
		return "the pane is another one now"
	case j.View.Process.PID != 0 && v.Process.PID != 0 &&
		(v.Process.PID != j.View.Process.PID || v.Process.Start != j.View.Process.Start):
		return "the agent in the pane is another one now"
	case j.Mark.Session != "" && v.SessionID != "" && v.SessionID != j.Mark.Session:
		return "the agent began another session"
	}
	return ""
}

// content compares the target's input with the first k pieces.
func (j *Job) content(ctx context.Context, v session.View, k int) (agent.BoxMatch, error) {
	text := j.Text
	if k < len(j.pieces) {
		text = strings.TrimRight(strings.Join(j.pieces[:k], ""), "\n")
	}
	if !Boxless(v, j.Typing) {
		if c := agent.BoxHolds(v.Box, text); ours(c) || !v.Shell {
			return c, nil
		}
	}
	all, _, err := BeforeCursor(context.WithoutCancel(ctx), j.Conn, v)
	if err != nil {
		return agent.BoxDifferent, err
	}
	return screenContent(all, j.Before, text), nil
}

// submitAgain presses a second submit key, if the first was provably not taken: the box still holds the whole text, the
// record does not show it, and the target is idle and safe. A blind one would answer a dialog. Never for a shell.
func (j *Job) submitAgain(ctx context.Context) bool {
	v, err := j.Sessions.Look(context.WithoutCancel(ctx), j.Target)
	if err != nil || v.Shell || v.Pane.ID == "" || j.replaced(v) != "" {
		return false
	}
	if unsafe(v).Outcome != "" || agent.BoxHolds(v.Box, j.Text) != agent.BoxExact {
		return false
	}
	if _, ok := j.Taken(ctx); ok {
		return false
	}
	done, _, _ := j.press(ctx, v, j.enterMarker(1), j.enterMarker(2))
	if done {
		j.Step("entered", "a second time: the first key was not taken")
	}
	return done
}
