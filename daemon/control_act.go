package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"go.uber.org/zap"

	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/deliver"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/route"
	"github.com/madohub/madohub/store"
)

// Send implements api.Control. A caller that descends from an agent's process acts as that agent (A10).
func (d *Daemon) Send(ctx context.Context, c api.Caller, s api.Send) (record.Record, error) {
	if c.Unknown || (c.IsAgent && c.Agent == "") {
		return record.Record{}, &api.Error{
			Status: http.StatusForbidden, Reason: record.CallerUnverified,
			Message: "this request comes from an agent's process that is not a configured agent",
			Hint:    "give that agent's pane a name in the configuration, with the targets it may reach in can_message",
		}
	}
	rec, err := d.engine.Send(ctx, route.SendRequest{To: s.To, Text: s.Text, From: c.Agent, Operation: s.Operation, By: who(c)})
	if errors.Is(err, store.ErrConflict) {
		return record.Record{}, &api.Error{Status: http.StatusConflict, Message: fmt.Sprintf("operation %q was already used for another text", s.Operation)}
	}
	if err != nil {
		return record.Record{}, actError(err)
	}
	return rec, nil
}

func who(c api.Caller) string {
	if c.Agent != "" {
		return c.Agent
	}
	return "person"
}

// Fire implements api.Control.
func (d *Daemon) Fire(ctx context.Context, c api.Caller, connection string) (record.Record, error) {
	rec, err := d.engine.Fire(ctx, connection, who(c))
	if err != nil {
		return record.Record{}, actError(err)
	}
	return rec, nil
}

// Switch implements api.Control.
func (d *Daemon) Switch(ctx context.Context, _ api.Caller, action string, names []string, all bool) ([]api.Connection, error) {
	changed, err := d.engine.Switch(ctx, action, names, all)
	if err != nil {
		return nil, actError(err)
	}
	out := []api.Connection{}
	for _, c := range changed {
		out = append(out, connectionView(c))
	}
	return out, nil
}

// Cancel implements api.Control.
func (d *Daemon) Cancel(ctx context.Context, c api.Caller, id string) (record.Record, error) {
	rec, err := d.store.Find(ctx, id)
	if err != nil {
		return record.Record{}, missing(err)
	}
	if err := d.deliveries.Cancel(ctx, rec.ID); err != nil {
		return record.Record{}, actError(err)
	}
	d.log.Info("cancelled", zap.String("delivery", rec.ID), zap.String("by", who(c)))
	return d.Record(ctx, rec.ID)
}

// Resolve implements api.Control.
func (d *Daemon) Resolve(ctx context.Context, c api.Caller, id, how string) (record.Record, error) {
	rec, err := d.store.Find(ctx, id)
	if err != nil {
		return record.Record{}, missing(err)
	}
	if err := d.deliveries.Resolve(ctx, rec.ID, deliver.How(how)); err != nil {
		return record.Record{}, actError(err)
	}
	d.log.Info("resolved", zap.String("delivery", rec.ID), zap.String("how", how), zap.String("by", who(c)))
	return d.Record(ctx, rec.ID)
}

// Approve implements api.Control.
func (d *Daemon) Approve(ctx context.Context, c api.Caller, id string, yes bool) (record.Record, error) {
	rec, err := d.store.Find(ctx, id)
	if err != nil {
		return record.Record{}, missing(err)
	}
	if err := d.store.Approve(ctx, rec.ID, yes, who(c)); err != nil {
		return record.Record{}, actError(err)
	}
	d.deliveries.Wake(rec.To)
	return d.Record(ctx, rec.ID)
}

// Reload implements api.Control.
func (d *Daemon) Reload(_ context.Context, _ api.Caller) (api.ConfigState, error) {
	s, err := d.reload()
	if err != nil {
		return s, &api.Error{
			Status: http.StatusUnprocessableEntity, Message: err.Error(),
			Hint: "the old configuration stays in force; mend the file and reload again",
		}
	}
	return s, nil
}

// Explain implements api.Control: a connection by its name, or a record by its id.
func (d *Daemon) Explain(ctx context.Context, what string) (api.Explanation, error) {
	ex, err := d.engine.Explain(ctx, what)
	if err == nil {
		out := api.Explanation{Verdict: ex.Verdict}
		view := connectionView(ex.Connection)
		out.Connection = &view
		for _, c := range ex.Checks {
			out.Checks = append(out.Checks, api.Check(c))
		}
		return out, nil
	}
	rec, findErr := d.store.Find(ctx, what)
	if findErr != nil {
		return api.Explanation{}, actError(err) // neither: the engine's error names the nearest connection
	}
	return api.Explanation{Record: &rec, Checks: recordChecks(rec), Verdict: recordVerdict(rec)}, nil
}

// recordChecks retell a record's way as conditions.
func recordChecks(r record.Record) []api.Check {
	checks := []api.Check{
		{Name: "fired", OK: true, Text: firedBy(r)},
		{Name: "decision", OK: r.Decision == record.Forward, Text: decided(r)},
	}
	for _, s := range r.Steps {
		checks = append(checks, api.Check{Name: s.Name, OK: true, Text: s.Time.Format("15:04:05.000") + "  " + s.Note})
	}
	ok := r.Outcome == record.Delivered || r.Outcome == record.QueuedByTarget
	return append(checks, api.Check{Name: "outcome", OK: ok, Text: outcomeText(r)})
}

// decided names the reason of a skip; any other reason is that of the outcome, which came later.
func decided(r record.Record) string {
	if r.Decision == record.Skip {
		return string(r.Decision) + " " + string(r.Reason)
	}
	return string(r.Decision)
}

func firedBy(r record.Record) string {
	if r.Origin != record.OriginTrigger {
		return fmt.Sprintf("asked for by %s (%s)", r.By, r.Origin)
	}
	return fmt.Sprintf("%s on %s: %s", r.Trigger, r.From, r.Evidence)
}

func outcomeText(r record.Record) string {
	text := string(r.Outcome)
	if r.Reason != "" {
		text += ": " + string(r.Reason)
	}
	if r.Proof != "" {
		text += ", proof: " + string(r.Proof)
	}
	return text
}

func recordVerdict(r record.Record) string {
	text := outcomeText(r)
	if r.Detail != "" {
		text += ". " + r.Detail
	}
	return text
}

// actError gives errors of engine, deliveries and store their place in HTTP.
func actError(err error) error {
	var bad *route.NameError
	var conflict deliver.Conflict
	switch {
	case errors.As(err, &bad):
		return &api.Error{Status: http.StatusNotFound, Message: bad.Error(), Hint: bad.Hint}
	case errors.Is(err, store.ErrNotFound):
		return &api.Error{Status: http.StatusNotFound, Message: err.Error()}
	case errors.Is(err, store.ErrConflict), errors.As(err, &conflict):
		return &api.Error{Status: http.StatusConflict, Message: err.Error()}
	}
	return err
}
