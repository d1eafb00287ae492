package typist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/tmux"
)

const (
	// serverWait is how long a tmux server that does not answer is waited for before the delivery is given up as unknown.
	// A stopped server runs what its clients sent before once it goes on (tmux 3.3a, 2026-11-30).
	serverWait = 2 * time.Minute
	// stopWait is how long a wait may go on after the daemon was told to stop.
	stopWait = 3 * time.Second
	// lookEvery is how often the target is looked at again while many lines are typed.
	lookEvery = time.Second
	// readWait is how long an agent may take to read the piece before; Claude Code reads within milliseconds.
	readWait = 10 * time.Second
	// readEvery is how often its terminal is looked at meanwhile; one look costs microseconds.
	readEvery = 5 * time.Millisecond
	// maxTries bounds the commands for one piece.
	maxTries = 6
)

// typeFrom pastes the pieces after the first done ones.
func (j *Job) typeFrom(ctx context.Context, done int) (End, bool) {
	looked := time.Now()
	for k := done + 1; k <= len(j.pieces); k++ {
		if k > done+1 {
			pause(ctx, between(j.Typing.LineDelayMin, j.Typing.LineDelayMax))
		}
		if e, ok := j.read(ctx, k); !ok {
			return e, false
		}
		if why := j.left(k); why != "" && Boxless(j.View, j.Typing) {
			return j.stopped(k-1, record.NotSubmitted, why), false
		} else if k > 1 && !Boxless(j.View, j.Typing) && (why != "" || time.Since(looked) >= lookEvery) {
			if e, ok := j.resettle(ctx, k-1); !ok {
				return e, false
			}
			looked = time.Now()
		}
		if e, ok := j.paste(ctx, k); !ok {
			return e, false
		}
		if k == 1 && k < len(j.pieces) {
			j.advance(ctx, record.StagePasting)
		}
	}
	j.advance(ctx, record.StagePasted)
	j.Step("pasted", fmt.Sprintf("%d pieces", len(j.pieces)))
	return End{}, true
}

// read waits until the agent has read the pieces before the k-th: what stands unread in its terminal when it ends goes to
// the shell behind it, and this way that is one piece at most. A shell reads when its command has ended, if at all.
func (j *Job) read(ctx context.Context, k int) (End, bool) {
	if k == 1 || j.View.Shell {
		return End{}, true
	}
	var stop grace
	for began := time.Now(); tmux.Unread(j.View.Pane.TTY) > 0 && j.left(k) == ""; time.Sleep(readEvery) {
		switch {
		case stop.over(ctx):
			return End{Leave: true}, false
		case time.Since(began) > readWait:
			return j.stopped(k-1, record.NotSubmitted, "the agent does not read its terminal"), false
		}
	}
	return End{}, true
}

// left says why the k-th piece would not reach the agent: the shell behind a suspended or ended agent would run it. A shell
// runs what it was sent, so after the first piece it may be in the background itself.
func (j *Job) left(k int) string {
	if k == 1 || j.View.Shell {
		return ""
	}
	return j.Sessions.Left(j.View)
}

// resettle is settle in the middle of the pieces: what it finds safe is what the next pieces are guarded by.
func (j *Job) resettle(ctx context.Context, k int) (End, bool) {
	v, e, ok := j.settle(ctx, k)
	if ok {
		j.View.Pane.Command, j.View.Pane.TTY = v.Pane.Command, v.Pane.TTY
		j.View.Process, j.View.Shell = v.Process, v.Shell
	}
	return e, ok
}

// advance notes a stage. If the disk is full the pane's own marker still tells how far it came.
func (j *Job) advance(ctx context.Context, stage record.Stage) {
	j.Intent.Stage = stage
	j.Advance(context.WithoutCancel(ctx), j.Intent)
}

// paste types the k-th piece. A command that failed or took too long is never just repeated: the pane's marker says whether
// it was done, and the repetition has the same guard, so that tmux does at most one of them.
func (j *Job) paste(ctx context.Context, k int) (End, bool) {
	p := tmux.Paste{
		Guard: j.guard(j.marker(k-1), nil, j.foreground(k)), Text: j.piece(k), Marker: j.marker(k),
		Buffer: fmt.Sprintf("madohub-%s-%d-%d", dashes(j.Intent.ID), j.Intent.Attempt, k),
	}
	if k == 1 {
		p.Guard.Cursor = &tmux.Cursor{X: j.View.Pane.CursorX, Y: j.View.Pane.CursorY}
	}
	for try := 1; ; try++ {
		res, err := j.Conn.Paste(context.WithoutCancel(ctx), p)
		if err == nil && res.Done {
			j.Intent.Line = k
			return End{}, true
		}
		j.logWhy("piece was not typed", err, res.Why)
		if k == 1 && try == 1 && errors.Is(err, tmux.ErrNoServer) {
			return End{Requeue: true, Reason: record.ServerUnreachable, Detail: err.Error()}, false // it never came to a server
		}
		now := res.Marker
		if err != nil {
			var e End
			var ok bool
			if now, e, ok = j.ask(ctx); !ok {
				return e, false
			}
		}
		if now == p.Marker {
			j.Intent.Line = k
			return End{}, true
		}
		if e, ok := j.again(ctx, k, try, now, res.Why, err); !ok {
			return e, false
		}
		p.Guard.Command = j.foreground(k)
	}
}

// again says whether the k-th piece, which is provably not in the pane, may be tried once more.
func (j *Job) again(ctx context.Context, k, try int, now, why string, err error) (End, bool) {
	switch {
	case err == nil && k == 1:
		return End{Requeue: true, Reason: record.TargetDraft, Detail: "the pane changed in the moment of typing: " + why}, false
	case now != j.marker(k-1) && k == 1:
		return End{Requeue: true, Reason: record.TargetBusy, Detail: "another delivery typed into the pane"}, false
	case now != j.marker(k-1):
		return j.stopped(k-1, record.NotSubmitted, cmp.Or(why, "another delivery typed into the pane")), false
	case try >= maxTries && k == 1:
		return End{Requeue: true, Reason: record.ServerUnreachable, Detail: "tmux does not take the text: " + errText(err)}, false
	case try >= maxTries:
		return j.stopped(k-1, record.NotSubmitted, cmp.Or(why, errText(err))), false
	case err != nil:
		pause(ctx, 100*time.Millisecond<<try)
		return End{}, true
	case Boxless(j.View, j.Typing):
		return j.stopped(k-1, record.NotSubmitted, "the pane changed while lines were typed: "+why), false
	}
	// Refused with our own marker in place: a mode, input off, or the process. Go on only once it is provably safe.
	return j.resettle(ctx, k-1)
}

// foreground is the command that must have the terminal when the k-th piece is typed. See left for shells.
func (j *Job) foreground(k int) string {
	if k > 1 && j.View.Shell {
		return ""
	}
	return j.View.Pane.Command
}

// piece is the text of the k-th paste, with line ends as the kind wants them.
func (j *Job) piece(k int) string {
	s := j.pieces[k-1]
	if nl := j.Typing.Newline; nl != "" && nl != "\n" {
		s = strings.ReplaceAll(s, "\n", nl)
	}
	return s
}

// ask reads the pane's marker and waits for a server that does not answer. If it can't be known, the end says so.
func (j *Job) ask(ctx context.Context) (string, End, bool) {
	wctx := context.WithoutCancel(ctx)
	start, gone := time.Now(), 0
	var stop grace
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		m, err := j.Conn.Marker(wctx, j.View.Server, j.Intent.Pane)
		if err == nil {
			return m, End{}, true
		}
		if errors.Is(err, tmux.ErrNoServer) {
			gone++
		}
		switch {
		case gone >= 5, time.Since(start) > serverWait, j.otherServer(wctx):
			return "", j.lost(ctx, record.ServerLost, fmt.Sprintf("the tmux server was lost while it was typed: %v", err)), false
		case errors.Is(err, tmux.ErrNoPane):
			return "", j.lost(ctx, record.Crash, "the pane ended while it was typed"), false
		}
		if stop.over(ctx) {
			return "", End{Leave: true}, false
		}
		time.Sleep(wait)
	}
}

// otherServer reports whether another tmux server answers at the socket now: ours has ended, and its panes with it.
func (j *Job) otherServer(ctx context.Context) bool {
	snap, err := j.Conn.List(ctx)
	return err == nil && Identity(snap.Server) != j.Intent.Server
}

// dashes makes a record's id part of a buffer name.
func dashes(id string) string { return strings.NewReplacer("_", "-", ".", "-").Replace(id) }
