package deliver

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/madohub/madohub/deliver/typist"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session"
	"github.com/madohub/madohub/tmux"
)

// recoverAll settles the intents of a target that a crash left without an outcome. False: some can't be settled yet, and
// until they are nothing else is typed there.
func (d *Deliveries) recoverAll(ctx context.Context, t *target) bool {
	for len(t.unfinished) > 0 {
		u := t.unfinished[0]
		a := d.resume(u, t)
		e, ok := a.recover(ctx)
		if !ok {
			d.hold(ctx, a.rec, record.ServerUnreachable, "it was begun before a crash, and what became of it can't be seen yet")
			t.unfinished[0].Item.Record = *a.rec
		}
		if !ok || e.Leave {
			return false
		}
		addStep(a.rec, "recovered", note(e.Reason, e.Detail))
		if e.Requeue && !d.requeue(ctx, a.rec) {
			return false
		}
		t.unfinished = t.unfinished[1:]
		if e.Requeue {
			continue
		}
		if _, kept := a.close(ctx, e); !kept {
			d.release(u.Intent.ID)
		}
		if len(t.owed) > 0 {
			return false
		}
	}
	return true
}

// resume makes an attempt from what is on disk.
func (d *Deliveries) resume(u record.Unfinished, t *target) *attempt {
	rec := u.Item.Record
	mark, err := decodeMark(u.Intent.Mark)
	if err != nil {
		d.logError("mark can't be read", &rec, err)
	}
	d.mu.Lock()
	fl := d.flights[u.Intent.ID]
	if fl == nil {
		fl = &flight{done: make(chan struct{}), begun: true}
		d.flights[u.Intent.ID] = fl
	}
	d.mu.Unlock()
	return &attempt{d: d, t: t, it: u.Item, rec: &rec, fl: fl, in: u.Intent, text: rec.Text, raw: rec.Text, mark: mark}
}

// requeue gives an intent back that was provably not typed. It reports whether the store took it.
func (d *Deliveries) requeue(ctx context.Context, rec *record.Record) bool {
	rec.Outcome, rec.Reason, rec.Detail = record.Held, "", ""
	if err := d.o.Store.Requeue(context.WithoutCancel(ctx), rec); err != nil {
		d.logError("recovery can't be recorded", rec, err)
		return false
	}
	d.release(rec.ID)
	return true
}

// recover asks first the agent's own record, then the pane, what became of an intent. Not ok: neither can tell yet.
func (a *attempt) recover(ctx context.Context) (typist.End, bool) {
	if e := a.run(func(j *typist.Job) typist.End { return j.Found(ctx) }); e.Outcome != "" {
		return e, true
	}
	conn, ok := a.d.o.Sessions.Terminal(a.in.Socket)
	if !ok {
		return typist.End{Outcome: record.Unknown, Reason: record.ServerLost, Detail: "its tmux socket is not configured any more"}, true
	}
	a.conn = conn
	server, e, ok := a.sameServer(ctx)
	if !ok {
		return e, e.Outcome != ""
	}
	a.view = session.View{Server: server}
	m, err := conn.Marker(ctx, server, a.in.Pane)
	switch {
	case errors.Is(err, tmux.ErrNoPane):
		return typist.End{Outcome: record.Unknown, Reason: record.Crash, Detail: "its pane has ended"}, true
	case err != nil:
		return a.giveUp(err)
	case m == a.in.Prev:
		return a.untyped(), true
	}
	place, ours := strings.CutPrefix(m, typist.MarkerBase(a.in))
	if !ours {
		return typist.End{Outcome: record.Unknown, Reason: record.Crash, Detail: "the pane's marker is another delivery's"}, true
	}
	typing := func(kind string) (Typing, error) { return a.d.o.Typing(a.it.Target, kind) }
	return a.run(func(j *typist.Job) typist.End { return j.Continue(ctx, place, typing) }), true
}

// sameServer finds out whether the tmux server is the one that the intent names.
func (a *attempt) sameServer(ctx context.Context) (tmux.Identity, typist.End, bool) {
	snap, err := a.conn.List(ctx)
	lost := typist.End{Outcome: record.Unknown, Reason: record.ServerLost, Detail: "the tmux server in which it was typed has ended"}
	switch {
	case errors.Is(err, tmux.ErrNoServer):
		return snap.Server, lost, false
	case err != nil:
		e, _ := a.giveUp(err)
		return snap.Server, e, false
	case typist.Identity(snap.Server) != a.in.Server:
		return snap.Server, lost, false
	}
	return snap.Server, typist.End{}, true
}

// giveUp waits for a server that does not answer, but not for ever.
func (a *attempt) giveUp(err error) (typist.End, bool) {
	if time.Now().Before(a.it.Expires) {
		return typist.End{}, false
	}
	return typist.End{Outcome: record.Unknown, Reason: record.ServerLost, Detail: err.Error()}, true
}

// untyped is the end of an intent of which the pane shows that not a key was sent.
func (a *attempt) untyped() typist.End {
	if time.Now().Before(a.it.Expires) {
		return typist.End{Requeue: true, Detail: "not a key was sent"}
	}
	return typist.End{Outcome: record.Expired, Reason: record.HoldFor, Detail: "not a key was sent before the crash, and it is too old now", Refund: true}
}
