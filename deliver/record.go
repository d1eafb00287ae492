package deliver

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/madohub/madohub/deliver/typist"
	"github.com/madohub/madohub/record"
)

// addStep notes one thing that happened. The oldest waits are forgotten first.
func addStep(rec *record.Record, name, note string) {
	if len(rec.Steps) >= record.MaxSteps {
		drop := 0
		for i, s := range rec.Steps {
			if s.Name == "held" {
				drop = i
				break
			}
		}
		rec.Steps = append(rec.Steps[:drop:drop], rec.Steps[drop+1:]...)
	}
	rec.Steps = append(rec.Steps, record.Step{Time: time.Now(), Name: name, Note: note})
}

// hold notes why a record waits, if that is news.
func (d *Deliveries) hold(ctx context.Context, rec *record.Record, reason record.Reason, detail string) {
	if rec.Outcome == record.Held && rec.Reason == reason && rec.Detail == detail {
		return
	}
	if rec.Reason != reason || rec.Outcome != record.Held {
		addStep(rec, "held", note(reason, detail))
	}
	rec.Outcome, rec.Reason, rec.Detail = record.Held, reason, detail
	rec.Updated = time.Now()
	if err := d.o.Store.Hold(ctx, rec); err != nil {
		d.logError("hold can't be recorded", rec, err)
	}
}

// end writes a final outcome. It reports whether the store took it.
func (d *Deliveries) end(ctx context.Context, rec *record.Record, e typist.End) bool {
	conclude(rec, e, string(e.Outcome), note(e.Reason, e.Detail))
	return d.write(ctx, rec, e.Refund)
}

// conclude gives a record its end and notes it as a step.
func conclude(rec *record.Record, e typist.End, step, text string) {
	rec.Outcome, rec.Reason, rec.Detail = e.Outcome, e.Reason, e.Detail
	rec.Proof = cmp.Or(e.Proof, rec.Proof)
	rec.Updated = time.Now()
	addStep(rec, step, text)
}

// amend writes another end of a record that is final.
func (d *Deliveries) amend(ctx context.Context, rec *record.Record) error {
	return d.o.Store.Amend(ctx, rec)
}

// write hands a final record to the store.
func (d *Deliveries) write(ctx context.Context, rec *record.Record, refund bool) bool {
	if err := d.o.Store.Finish(ctx, rec, refund); err != nil {
		d.logError("outcome can't be recorded", rec, err)
		return false
	}
	d.o.Log.Info("delivery ended", zap.String("delivery", rec.ID), zap.String("connection", rec.Connection),
		zap.String("agent", rec.To), zap.String("outcome", string(rec.Outcome)), zap.String("reason", string(rec.Reason)))
	return true
}

func (d *Deliveries) logError(msg string, rec *record.Record, err error) {
	d.o.Log.Error(msg, zap.String("delivery", rec.ID), zap.String("agent", rec.To), zap.Error(err))
}

func note(reason record.Reason, detail string) string {
	switch {
	case detail == "":
		return string(reason)
	case reason == "":
		return detail
	}
	return fmt.Sprintf("%s: %s", reason, detail)
}
