package deliver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/madohub/madohub/deliver/typist"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session"
	"github.com/madohub/madohub/tmux"
)

const (
	// recentKeys is how long after a person's last key in a pane nothing is typed there. tmux counts whole seconds,
	// so the key may be one second younger than it says.
	recentKeys = 3 * time.Second
	// sweepBuffers is how long after a tmux client was killed its buffer is old enough to be swept (see tmux.Conn).
	sweepBuffers = 3 * time.Minute
	// maxBackOff bounds the wait between attempts at a pane that keeps changing under our hands.
	maxBackOff = 30 * time.Second
)

// attempt is one try to deliver one record. It belongs to the worker of its target.
type attempt struct {
	d      *Deliveries
	t      *target
	it     record.Item
	rec    *record.Record
	fl     *flight
	in     record.Intent
	view   session.View // as the gate saw it; zero after a crash
	conn   tmux.Conn
	typ    Typing
	text   string // clean
	raw    string // as it was decided
	pieces int
	mark   session.Mark
	before string // boxless: what stood before the cursor at the gate
}

// what an attempt came to.
type what int

const (
	skipped what = iota // it concerned this item alone, or nothing happened
	ended               // keys were sent, or the target's queue has changed
	heldAll             // the target can't take any text now
)

type verdict struct {
	what   what
	reason record.Reason
	detail string
}

func holdTarget(reason record.Reason, detail string) verdict { return verdict{heldAll, reason, detail} }

// attempt looks at the target afresh and types if it may.
func (d *Deliveries) attempt(ctx context.Context, it record.Item, t *target) verdict {
	fl := d.claim(it.Record.ID)
	if fl == nil {
		return verdict{}
	}
	kept := false
	defer func() {
		if !kept {
			d.release(it.Record.ID)
		}
	}()
	rec, err := d.o.Store.Record(ctx, it.Record.ID)
	if err != nil || rec.Outcome != record.Held {
		return verdict{what: skipped} // superseded or cancelled a moment ago
	}
	it.Record = rec
	a := &attempt{d: d, t: t, it: it, rec: &rec, fl: fl, raw: rec.Text}
	if v, ok := a.gates(ctx); !ok {
		return v
	}
	unlock, ok := d.lockPane(a.view.Server, a.view.Pane.ID)
	if !ok {
		return holdTarget(record.TargetBusy, "another delivery is being typed into this pane")
	}
	defer unlock()
	if v, ok := a.intend(ctx); !ok {
		return v
	}
	v, keep := a.close(ctx, a.run(func(j *typist.Job) typist.End { return j.Deliver(ctx) }))
	kept = keep
	return v
}

// gates asks everything that may speak against typing now. False: the verdict stands.
func (a *attempt) gates(ctx context.Context) (verdict, bool) {
	v, err := a.d.o.Sessions.Look(ctx, a.it.Target)
	if err != nil {
		return holdTarget(record.ServerUnreachable, err.Error()), false
	}
	a.view = v
	if e := typist.Gate(v); e.Outcome != "" {
		return a.refuse(ctx, e), false
	}
	if a.typ, err = a.d.o.Typing(a.it.Target, v.Kind); err != nil {
		return holdTarget(record.StateIsUnknown, err.Error()), false
	}
	text, pieces, removed, e := typist.Prepare(a.raw, a.typ, v.Shell, a.d.o.Limits().MaxText)
	if e.Outcome != "" {
		return a.refuse(ctx, e), false
	}
	a.text, a.pieces, a.rec.Removed = text, len(pieces), removed
	if e := typist.CheckBox(v, a.typ); e.Outcome != "" {
		return a.refuse(ctx, e), false
	}
	conn, ok := a.d.o.Sessions.Terminal(v.Socket)
	if !ok {
		return holdTarget(record.ServerUnreachable, fmt.Sprintf("no connection to tmux socket %q", v.Socket)), false
	}
	a.conn = conn
	return a.lastLook(ctx)
}

// refuse holds the target, or ends the item, as a gate said.
func (a *attempt) refuse(ctx context.Context, e typist.End) verdict {
	if p := a.t.parked; p != nil && e.Reason == record.TargetDraft {
		e.Reason, e.Detail = record.Parked, p.detail()
	}
	if e.Outcome == record.Held {
		return holdTarget(e.Reason, e.Detail)
	}
	a.d.end(ctx, a.rec, e)
	return verdict{what: skipped}
}

// lastLook reads what the guard and the proof need: keys of a person, the pane's marker, the place in the agent's record.
func (a *attempt) lastLook(ctx context.Context) (verdict, bool) {
	if v, ok := a.boxlessGate(ctx); !ok {
		return v, false
	}
	a.t.parked = nil
	last, err := typist.LastKey(ctx, a.conn, a.view.Pane.ID)
	if err != nil {
		return holdTarget(record.ServerUnreachable, err.Error()), false
	}
	if time.Since(last) < recentKeys {
		return holdTarget(record.TargetDraft, "a person has just typed there"), false
	}
	if a.in.Prev, err = a.conn.Marker(ctx, a.view.Server, a.view.Pane.ID); err != nil {
		return holdTarget(record.ServerUnreachable, fmt.Sprintf("read the marker of pane %s: %v", a.view.Pane.ID, err)), false
	}
	if a.mark, err = a.d.o.Sessions.Mark(ctx, a.it.Target); err != nil {
		return holdTarget(record.StateIsUnknown, fmt.Sprintf("its own record can't be read: %v", err)), false
	}
	return verdict{}, true
}

// boxlessGate notes what stands before the cursor of a target whose input box can't be read, or not always, and holds while
// that is what an earlier delivery left there.
func (a *attempt) boxlessGate(ctx context.Context) (verdict, bool) {
	boxless := typist.Boxless(a.view, a.typ)
	if !boxless && !a.view.Shell {
		return verdict{}, true
	}
	all, row, err := typist.BeforeCursor(ctx, a.conn, a.view)
	if err != nil {
		return holdTarget(record.ServerUnreachable, err.Error()), false
	}
	a.before = row
	if p := a.t.parked; boxless && p != nil && !p.clean(all, row, a.view.Since) {
		return holdTarget(record.Parked, p.detail()), false
	}
	return verdict{}, true
}

// intend puts the intent on disk. Only then a key may be sent.
func (a *attempt) intend(ctx context.Context) (verdict, bool) {
	if ctx.Err() != nil {
		return verdict{}, false
	}
	ctx = context.WithoutCancel(ctx)
	if !a.d.begin(a.fl) {
		a.d.end(ctx, a.rec, typist.End{Outcome: record.Cancelled, Reason: record.ByUser})
		return verdict{what: ended}, false
	}
	a.rec.Attempts++
	a.rec.Text, a.rec.Pane, a.rec.Outcome, a.rec.Reason, a.rec.Detail = a.text, a.view.Pane.ID, record.Held, "", ""
	a.rec.Updated = time.Now()
	a.rec.Timings.Hold = a.rec.Updated.Sub(a.rec.Time).Milliseconds()
	server := typist.Identity(a.view.Server)
	addStep(a.rec, "intent", fmt.Sprintf("pane %s of server %s, %s, %d pieces", a.view.Pane.ID, server, a.view.Evidence, a.pieces))
	a.in = record.Intent{
		ID: a.rec.ID, Attempt: a.rec.Attempts, Server: server, Socket: a.view.Socket,
		Pane: a.view.Pane.ID, PanePID: a.view.Pane.PID, Prev: a.in.Prev, Lines: a.pieces,
		Stage: record.StageIntent, Mark: encodeMark(a.mark),
	}
	err := a.d.o.Store.Intend(ctx, a.rec, a.in)
	if err == nil {
		return verdict{}, true
	}
	a.d.unbegin(a.fl)
	a.d.logError("intent can't be recorded, nothing is typed", a.rec, err)
	if rec, rerr := a.d.o.Store.Record(ctx, a.rec.ID); rerr == nil && rec.Outcome != record.Held {
		return verdict{what: skipped}, false // superseded in between
	}
	if diskFull(err) {
		a.rec.Text = a.raw
		a.d.end(ctx, a.rec, typist.End{Outcome: record.Failed, Reason: record.DiskFull, Detail: err.Error()})
	}
	return verdict{what: skipped}, false
}

// run types with a job of its own and takes its timings over.
func (a *attempt) run(do func(*typist.Job) typist.End) typist.End {
	j := &typist.Job{
		Target: a.it.Target, Sessions: a.d.o.Sessions, Conn: a.conn, Typing: a.typ, Text: a.text,
		Intent: a.in, View: a.view, Mark: a.mark, Gated: a.gated(), Before: a.before, Expires: a.it.Expires, Log: a.d.o.Log,
		Hold: func(ctx context.Context, r record.Reason, detail string) { a.d.hold(ctx, a.rec, r, detail) },
		Advance: func(ctx context.Context, in record.Intent) {
			if err := a.d.o.Store.Advance(ctx, in); err != nil {
				a.d.logError("stage can't be recorded", a.rec, err)
			}
		},
		Waiting: func(on bool) bool { return a.d.waiting(a.fl, on) },
		Step:    func(name, note string) { addStep(a.rec, name, note) },
	}
	e := do(j)
	a.in = j.Intent
	if j.Trouble {
		time.AfterFunc(sweepBuffers, func() { _ = a.conn.Sweep(context.Background()) }) // what fails is swept after the next trouble
	}
	if !j.Submitted.IsZero() && !j.Began.IsZero() {
		a.rec.Timings.Type = j.Submitted.Sub(j.Began).Milliseconds()
	}
	if !j.Submitted.IsZero() && !j.Proved.IsZero() {
		a.rec.Timings.Prove = j.Proved.Sub(j.Submitted).Milliseconds()
	}
	if a.t.typed = j.Submitted; j.Submitted.IsZero() && !j.Began.IsZero() {
		a.t.typed = time.Now()
	}
	return e
}

// gated is when the gate was passed. A record keeps it through a crash, unlike the time of its last change.
func (a *attempt) gated() time.Time {
	return a.rec.Time.Add(time.Duration(a.rec.Timings.Hold) * time.Millisecond)
}

// close ends an attempt as its end says. The second result: the claim on the record stays.
func (a *attempt) close(ctx context.Context, e typist.End) (verdict, bool) {
	wctx := context.WithoutCancel(ctx)
	switch {
	case e.Leave:
		a.t.unfinished = append(a.t.unfinished, record.Unfinished{Item: a.it, Intent: a.in})
		return verdict{what: ended}, true
	case e.Requeue:
		return a.giveBack(wctx, e)
	}
	a.t.refused = 0
	if e.Outcome == record.Typed && e.Reason != record.NoProof || e.Outcome == record.Unknown {
		a.t.parked = &parked{id: a.rec.ID, since: time.Now(), before: a.before, text: a.text}
	}
	if !a.d.end(wctx, a.rec, e) {
		a.t.owed = append(a.t.owed, owed{a.rec, e.Refund})
		return verdict{what: ended}, true
	}
	a.d.keepWatching(a, e)
	return verdict{what: ended}, false
}

// giveBack returns the round: provably no key was sent. A pane that keeps changing is asked less and less often.
func (a *attempt) giveBack(ctx context.Context, e typist.End) (verdict, bool) {
	a.t.typed = time.Time{}
	a.rec.Text, a.rec.Removed, a.rec.Outcome, a.rec.Reason, a.rec.Detail = a.raw, 0, record.Held, e.Reason, e.Detail
	addStep(a.rec, "refused", e.Detail)
	if err := a.d.o.Store.Requeue(ctx, a.rec); err != nil {
		a.d.logError("refusal can't be recorded", a.rec, err)
		a.t.unfinished = append(a.t.unfinished, record.Unfinished{Item: a.it, Intent: a.in})
		return verdict{what: ended}, true
	}
	a.d.unbegin(a.fl)
	a.t.refused++
	if a.t.refused == 1 {
		return verdict{what: ended}, false // look again at once
	}
	a.t.notBefore = time.Now().Add(min(sweepEvery<<min(a.t.refused-2, 5), maxBackOff) - sweepEvery/2)
	return holdTarget(e.Reason, e.Detail), false
}

// lockPane is the lease on a pane: one writer, whatever names it has.
func (d *Deliveries) lockPane(server tmux.Identity, pane string) (unlock func(), ok bool) {
	key := typist.Identity(server) + " " + pane
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.panes[key] {
		return nil, false
	}
	d.panes[key] = true
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.panes, key)
	}, true
}

// diskFull tells a full disk by the error itself or, through SQLite, by its words.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || strings.Contains(err.Error(), "is full")
}
