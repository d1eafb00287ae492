package deliver

import (
	"context"
	"fmt"
	"time"

	"github.com/madohub/madohub/deliver/typist"
	"github.com/madohub/madohub/record"
)

// How is a person's word on a delivery of which nobody else knows what became of it.
type How string

// What a person may say.
const (
	SaidTyped How = "typed" // it was typed: nothing more happens
	SaidRetry How = "retry" // it was not: back to the queue
	SaidDrop  How = "drop"  // never mind
)

// Conflict is an error that says that a record is no longer as a person thinks who asks for something: nothing was done.
type Conflict string

// Error implements error.
func (c Conflict) Error() string { return string(c) }

// errBegun says that a delivery can no longer be taken back.
const errBegun = Conflict("it is being typed")

// cancelWait is how long Cancel waits for an attempt that may still come to nothing.
const cancelWait = 5 * time.Second

// Cancel withdraws a waiting delivery. One that is typed and waits for a safe moment to be submitted is not submitted any
// more and ends as typed; one that is being typed can't be taken back.
func (d *Deliveries) Cancel(ctx context.Context, id string) error {
	give := time.NewTimer(cancelWait)
	defer give.Stop()
	for {
		f := d.claim(id)
		if f != nil {
			defer d.release(id)
			return d.cancelWaiting(ctx, id)
		}
		done, err := d.askToEnd(id)
		if err != nil || done == nil {
			return err
		}
		select {
		case <-done:
		case <-give.C:
			return fmt.Errorf("cancel %s: %w", id, errBegun)
		case <-ctx.Done():
			return fmt.Errorf("cancel %s: %w", id, ctx.Err())
		}
	}
}

func (d *Deliveries) cancelWaiting(ctx context.Context, id string) error {
	rec, err := d.o.Store.Record(ctx, id)
	if err != nil {
		return fmt.Errorf("cancel %s: %w", id, err)
	}
	switch {
	case rec.Outcome == record.Cancelled:
		return nil
	case rec.Outcome != record.Held:
		return fmt.Errorf("cancel %s: %w", id, Conflict(fmt.Sprintf("it is %s already", rec.Outcome)))
	}
	if !d.end(ctx, &rec, typist.End{Outcome: record.Cancelled, Reason: record.ByUser}) {
		return fmt.Errorf("cancel %s: the state can't be written", id)
	}
	d.Wake(rec.To)
	return nil
}

// askToEnd tells the worker that has a record to let go of it. A nil channel: it will, by itself.
func (d *Deliveries) askToEnd(id string) (<-chan struct{}, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.flights[id]
	switch {
	case f == nil:
		done := make(chan struct{})
		close(done)
		return done, nil
	case f.begun && !f.waiting:
		return nil, fmt.Errorf("cancel %s: %w", id, errBegun)
	}
	f.cancel = true
	if f.waiting {
		return nil, nil
	}
	return f.done, nil
}

// Resolve settles an unknown delivery by a person's word.
func (d *Deliveries) Resolve(ctx context.Context, id string, how How) error {
	if d.claim(id) == nil {
		return fmt.Errorf("resolve %s: %w", id, errBegun)
	}
	defer d.release(id)
	rec, err := d.o.Store.Record(ctx, id)
	if err != nil {
		return fmt.Errorf("resolve %s: %w", id, err)
	}
	if rec.Outcome != record.Unknown {
		return fmt.Errorf("resolve %s: %w", id, Conflict(fmt.Sprintf("it is %s, not unknown", rec.Outcome)))
	}
	switch how {
	case SaidTyped:
		err = d.settleByWord(ctx, &rec, typist.End{
			Outcome: record.Typed, Reason: record.NoProof, Detail: "a person says that it was typed", Proof: record.ProofNone,
		})
	case SaidDrop:
		err = d.settleByWord(ctx, &rec, typist.End{Outcome: record.Cancelled, Reason: record.ByUser, Detail: "dropped by a person"})
	case SaidRetry:
		err = d.retry(ctx, rec)
	default:
		return fmt.Errorf("resolve %s: %q is none of typed, retry, drop", id, how)
	}
	if err != nil {
		return fmt.Errorf("resolve %s: %w", id, err)
	}
	return nil
}

func (d *Deliveries) settleByWord(ctx context.Context, rec *record.Record, e typist.End) error {
	conclude(rec, e, "resolved", e.Detail)
	return d.amend(ctx, rec)
}

// retry puts a record back into the queue. It passes all gates again but approval: a person has just asked for it.
func (d *Deliveries) retry(ctx context.Context, rec record.Record) error {
	holdFor := d.o.Limits().HoldFor
	if holdFor <= 0 {
		holdFor = 30 * time.Minute
	}
	rec.Outcome, rec.Reason, rec.Detail, rec.Proof = record.Held, "", "", ""
	rec.Updated = time.Now()
	addStep(&rec, "resolved", "a person wants it typed again")
	if err := d.o.Store.Retry(ctx, record.Item{Record: rec, Target: rec.To, Expires: time.Now().Add(holdFor)}); err != nil {
		return err
	}
	d.Wake(rec.To)
	return nil
}
