package deliver

import (
	"context"
	"encoding/json"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/madohub/madohub/deliver/typist"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session"
)

const (
	// queuedFor is how long a prompt that the target queued itself is watched, unprovenFor one that showed no proof at all.
	queuedFor, unprovenFor = 30 * time.Minute, 2 * time.Minute
	// idleLooks is how many sweeps in a row a target must be idle before a prompt that it queued counts as lost.
	idleLooks = 10
)

// watch is a delivery whose proof may still turn up after its end.
type watch struct {
	target string
	rec    record.Record
	mark   session.Mark
	text   string
	until  time.Time
	idle   int // sweeps in a row in which the target was idle
}

// keepWatching remembers a delivery that ended without its last word.
func (d *Deliveries) keepWatching(a *attempt, e typist.End) {
	w := &watch{target: a.it.Target, rec: *a.rec, mark: a.mark, text: a.text}
	switch {
	case e.Outcome == record.QueuedByTarget:
		w.until = time.Now().Add(queuedFor)
	case e.Reason == record.NoProof:
		w.until = time.Now().Add(unprovenFor)
	default:
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watched[w.rec.ID] = w
}

// startWatcher looks once for the proofs that are still missing, unless the last look is not over.
func (d *Deliveries) startWatcher(ctx context.Context, workers *errgroup.Group) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.watches || len(d.watched) == 0 {
		return
	}
	list := make([]*watch, 0, len(d.watched))
	for _, w := range d.watched {
		list = append(list, w)
	}
	d.watches = true
	workers.Go(func() error {
		defer func() {
			d.mu.Lock()
			d.watches = false
			d.mu.Unlock()
		}()
		for _, w := range list {
			if ctx.Err() == nil && d.lookFor(ctx, w) {
				d.mu.Lock()
				delete(d.watched, w.rec.ID)
				d.mu.Unlock()
			}
		}
		return nil
	})
}

// lookFor looks once for one missing proof and reports whether that was the last time.
func (d *Deliveries) lookFor(ctx context.Context, w *watch) bool {
	t, err := d.o.Sessions.Taken(ctx, w.target, w.mark, w.text)
	e := typist.End{Outcome: record.Delivered, Proof: t.Proof}
	if err != nil || t.Queued || t.Proof == "" || t.Proof == record.ProofNone {
		over := !time.Now().Before(w.until)
		if w.rec.Outcome != record.QueuedByTarget {
			return over
		}
		if !d.lostInTarget(ctx, w) && !over {
			return false
		}
		e = typist.End{
			Outcome: record.Typed, Reason: record.NoProof, Proof: record.ProofNone,
			Detail: "the target queued it and never took it: its queue was emptied, or the turn was interrupted",
		}
	}
	rec := w.rec // what the store does not take is tried again from the same
	conclude(&rec, e, string(e.Outcome), note(e.Reason, e.Detail))
	if err := d.amend(ctx, &rec); err != nil {
		d.logError("late proof can't be recorded", &rec, err)
		return false
	}
	return true
}

// lostInTarget reports whether a target has been idle for so long that what it queued will not come any more.
func (d *Deliveries) lostInTarget(ctx context.Context, w *watch) bool {
	v, err := d.o.Sessions.Look(ctx, w.target)
	if err != nil || v.State != record.StateIdle {
		w.idle = 0
		return err == nil && v.Gone
	}
	w.idle++
	return w.idle >= idleLooks
}

// encodeMark makes a mark opaque for the store.
func encodeMark(m session.Mark) string {
	b, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	return string(b)
}

func decodeMark(s string) (m session.Mark, err error) {
	err = json.Unmarshal([]byte(s), &m)
	return m, err
}
