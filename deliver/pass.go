package deliver

import (
	"context"
	"fmt"
	"time"

	"github.com/madohub/madohub/deliver/typist"
	"github.com/madohub/madohub/record"
)

// pass goes once over what waits for a target, oldest first. It reports whether something ended, so that the rest is to be
// looked at again at once.
func (d *Deliveries) pass(ctx context.Context, name string, t *target) bool {
	settled := d.payOwed(ctx, t) && d.recoverAll(ctx, t)
	ready := d.ready(ctx, name)
	if !settled {
		d.holdAll(ctx, ready, record.ServerUnreachable, "an earlier delivery to it is not settled yet")
		return false
	}
	if len(ready) == 0 {
		return false
	}
	if time.Now().Before(t.notBefore) {
		return false
	}
	if wait := d.o.Limits().TargetSpacing - time.Since(t.typed); wait > 0 && !t.typed.IsZero() {
		d.holdAll(ctx, ready, record.TargetSpacing, "")
		d.wakeIn(name, wait)
		return false
	}
	for i, it := range ready {
		if ctx.Err() != nil {
			return false
		}
		switch v := d.attempt(ctx, it, t); v.what {
		case ended:
			return true
		case heldAll:
			d.holdAll(ctx, ready[i:], v.reason, v.detail)
			return false
		}
	}
	return false
}

// payOwed writes the ends that the store did not take before.
func (d *Deliveries) payOwed(ctx context.Context, t *target) bool {
	for len(t.owed) > 0 {
		o := t.owed[0]
		if !d.write(context.WithoutCancel(ctx), o.rec, o.refund) {
			return false
		}
		d.release(o.rec.ID)
		t.owed = t.owed[1:]
	}
	return true
}

// ready lists the items of a target that policy lets go now. What policy holds for a reason of its own stands in nobody's
// way; what policy ends is ended.
func (d *Deliveries) ready(ctx context.Context, name string) []record.Item {
	items, err := d.o.Store.Queue(ctx)
	if err != nil {
		return nil
	}
	now := time.Now()
	var out []record.Item
	for _, it := range items {
		if it.Target != name || !now.Before(it.Expires) || d.inFlight(it.Record.ID) {
			continue
		}
		v := d.o.Policy.Check(ctx, it, now)
		switch v.Outcome {
		case "":
			out = append(out, it)
		case record.Held:
			d.hold(ctx, &it.Record, v.Reason, v.Detail)
			if !v.Retry.IsZero() {
				d.wakeIn(name, v.Retry.Sub(now))
			}
		default:
			d.endWaiting(ctx, it, typist.End{Outcome: v.Outcome, Reason: v.Reason, Detail: v.Detail})
		}
	}
	return out
}

func (d *Deliveries) inFlight(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.flights[id] != nil
}

// endWaiting ends an item that was not begun.
func (d *Deliveries) endWaiting(ctx context.Context, it record.Item, e typist.End) {
	if d.claim(it.Record.ID) == nil {
		return
	}
	defer d.release(it.Record.ID)
	d.end(ctx, &it.Record, e)
}

// holdAll notes a reason that holds a whole target. What is seen while the daemon stops says nothing of the target.
func (d *Deliveries) holdAll(ctx context.Context, items []record.Item, reason record.Reason, detail string) {
	if ctx.Err() != nil {
		return
	}
	for i := range items {
		d.hold(ctx, &items[i].Record, reason, detail)
	}
}

// wakeIn wakes a target before the next sweep would.
func (d *Deliveries) wakeIn(name string, wait time.Duration) {
	if wait < sweepEvery {
		time.AfterFunc(max(wait, time.Millisecond), func() { d.Wake(name) })
	}
}

// parked is a target in whose input something of an earlier delivery may still stand.
type parked struct {
	id     string
	since  time.Time
	before string // boxless: what stood before the cursor when the target was clean
	text   string
}

func (p *parked) detail() string {
	return fmt.Sprintf("what %s left in its input is still there", p.id)
}

// clean reports whether what the delivery left is gone from a target whose input box can't be read.
func (p *parked) clean(all, row string, since time.Time) bool {
	return p.before != "" && row == p.before || since.After(p.since) && !typist.EndsWith(all, p.text)
}
