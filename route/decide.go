package route

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"go.uber.org/zap"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/route/guard"
	"github.com/madohub/madohub/route/transform"
	"github.com/madohub/madohub/route/trigger"
)

// decideTimeout bounds one decision. It does not end with the engine: what was begun is recorded.
const decideTimeout = 15 * time.Second

// decide takes one firing of a connection to its record: guard, gates, transform, queue. By names who fired it by hand, ""
// for the trigger. The record is empty if this turn was decided before, which hinders no one's hand, or if the connection
// is switched off in the file.
func (e *Engine) decide(ctx context.Context, name string, fire trigger.Firing, by string) (record.Record, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), decideTimeout)
	defer cancel()
	rules := e.inForce()
	c, ok := rules.rules[name]
	if !ok || (!c.Enabled && by == "") {
		return record.Record{}, nil
	}
	rec := newRecord(c, fire, by)
	f := e.facts(rules, rec)
	f.Rule, f.Answer = c, fire.Turn.Answer
	d := record.Decided{Record: rec, Turn: fire.Key}
	if fire.Skip != "" {
		rec.Decision, rec.Reason, rec.Outcome, rec.Detail = record.Skip, fire.Skip, record.Skipped, fire.Detail
		return e.write(ctx, d)
	}
	if err := e.gather(ctx, f); err != nil {
		return record.Record{}, fmt.Errorf("decide on %q: %w", name, err)
	}
	v := guard.Ask(guard.Firing, f)
	if v.Reason == record.StopKeyword {
		d.Disable = guard.Ends(f)
	}
	if v.Outcome == "" {
		v = e.transform(ctx, rules, f)
	}
	if v.Outcome == "" {
		v = guard.Ask(guard.Text, f)
	}
	rec.Timings.Decide = time.Since(rec.Time).Milliseconds()
	if v.Outcome != "" {
		rec.Outcome, rec.Reason, rec.Detail = v.Outcome, v.Reason, v.Detail
		return e.write(ctx, d)
	}
	d.Item, d.Replace = enqueue(rules, f), f.Replaces
	return e.write(ctx, d)
}

func newRecord(c *guard.Rule, fire trigger.Firing, by string) *record.Record {
	now := time.Now()
	rec := &record.Record{
		ID: newID(), Time: now, Updated: now, Connection: c.Name, From: c.From, To: c.To, Origin: record.OriginTrigger,
		Trigger: c.Trigger, Transform: c.Transform, Dispatch: dispatchLegacy, Decision: record.Forward,
		MaxRounds: c.Guard.MaxRounds, SourceText: fire.Turn.Answer, Turn: fire.Key, Evidence: fire.Evidence,
		Timings: record.Timings{Silence: fire.Silence.Milliseconds()},
	}
	if by != "" {
		rec.Origin, rec.By, rec.Trigger = record.OriginCLI, by, ""
	}
	return rec
}

func newID() string { return "r_" + ulid.Make().String() }

// gather reads what the gates of a firing look at.
func (e *Engine) gather(ctx context.Context, f *guard.Facts) error {
	// The waiting item is read first: if it is begun in between, the counter already counts it.
	if f.Rule != nil {
		waiting, ok, err := e.opt.Store.Waiting(ctx, f.Record.Connection)
		if err != nil {
			return fmt.Errorf("read what waits: %w", err)
		}
		if ok {
			f.Replaces = waiting.Record.ID
		}
	}
	var err error
	if f.Counters, err = e.opt.Store.Counters(ctx); err != nil {
		return fmt.Errorf("read the counters: %w", err)
	}
	if f.QueueLen, err = e.opt.Store.QueueLen(ctx, f.Record.To); err != nil {
		return fmt.Errorf("read the queue of %q: %w", f.Record.To, err)
	}
	f.Record.Hops = e.chains.Next(f.Record.From)
	if f.Rule != nil {
		f.Record.Round = f.Counter().Round + 1
	}
	return nil
}

// facts starts the facts of a decision with the rules and the two agents as they are known now.
func (e *Engine) facts(rules *Rules, rec *record.Record) *guard.Facts {
	return &guard.Facts{
		Now: rec.Time, Rules: rules.rules, Agents: rules.agents, Limits: rules.cfg.Limits, Record: rec, Pace: e.pace,
		From: e.seen(rec.From), To: e.seen(rec.To),
	}
}

func (e *Engine) seen(name string) guard.Seen {
	if name == "" {
		return guard.Seen{}
	}
	a, ok := e.opt.Agents.Agent(name)
	return guard.Seen{Known: ok, State: a.State, Evidence: a.Evidence, Pane: a.Pane, Gone: a.Gone, Shell: a.Shell}
}

// transform makes the text. Whatever breaks in it is said in the record; it never takes the engine with it.
func (e *Engine) transform(ctx context.Context, rules *Rules, f *guard.Facts) Verdict {
	t, rec := rules.texts[f.Rule.Name], f.Record
	source, _ := e.opt.Agents.Agent(rec.From)
	in := transform.Input{
		Answer: f.Answer, Template: f.Rule.Template, Round: rec.Round, MaxRounds: f.Rule.Guard.MaxRounds,
		Source: rec.From, Cwd: source.Cwd, Max: f.Limits.MaxText,
	}
	failed := Verdict{Outcome: record.Failed, Reason: record.TransformFailed}
	var err error
	if t.Output {
		if in.Lines, err = e.opt.Agents.Output(ctx, rec.From); err != nil {
			failed.Detail = fmt.Sprintf("%s: read the terminal of %q: %v", t.Name, rec.From, err)
			return failed
		}
	}
	text, err := t.Apply(in)
	if errors.Is(err, transform.ErrTooLong) {
		return guard.TooLong(f.Limits.MaxText)
	}
	if err != nil {
		failed.Detail = fmt.Sprintf("%s: %v", t.Name, err)
		return failed
	}
	rec.Text = strings.TrimRight(text, "\r\n")
	if rules.cfg.Envelope && !f.To.Shell && strings.TrimSpace(rec.Text) != "" {
		rec.Text = envelope(rec)
	}
	return Verdict{}
}

// envelope puts the line in front that says where a text comes from. Nobody else may: such a line inside the text is quoted.
func envelope(rec *record.Record) string {
	const head = "[madohub "
	text := strings.ReplaceAll("\n"+rec.Text, "\n"+head, "\n> "+head)
	return fmt.Sprintf("%s%s #%d from %s]%s", head, rec.Connection, rec.Round, rec.From, text)
}

// enqueue makes the queue row, and says at once why the text must wait if it must.
func enqueue(rules *Rules, f *guard.Facts) *record.Item {
	rec := f.Record
	item := &record.Item{Target: rec.To, Expires: rec.Time.Add(f.Limits.HoldFor), Approval: rules.approveSends()}
	if f.Rule != nil {
		item.Approval = f.Rule.Approve
	}
	f.Item = item
	v := guard.Ask(guard.Waiting, f)
	rec.Outcome, rec.Reason, rec.Detail = record.Held, v.Reason, v.Detail
	if v.Reason != "" { // the reason is overwritten by what follows, the step is not
		rec.Steps = append(rec.Steps, record.Step{Time: rec.Time, Name: "held", Note: strings.TrimSuffix(string(v.Reason)+": "+v.Detail, ": ")})
	}
	item.Record = *rec
	return item
}

// write puts a decision on disk; only then anybody hears of it.
func (e *Engine) write(ctx context.Context, d record.Decided) (record.Record, error) {
	rec := d.Record
	rec.Updated = time.Now()
	if d.Item != nil {
		d.Item.Record = *rec
	}
	e.setting.Lock()
	fresh, err := e.opt.Store.Decide(ctx, d)
	e.setting.Unlock()
	if err != nil {
		return record.Record{}, fmt.Errorf("record what was decided for %q: %w", rec.To, err)
	}
	if !fresh && d.Operation != "" {
		return *rec, nil // the store put the earlier record of the same operation here
	}
	if !fresh {
		e.log.Debug("turn was decided before", zap.String("connection", rec.Connection), zap.String("turn", rec.Turn))
		return record.Record{}, nil
	}
	e.log.Info("decided", zap.String("connection", rec.Connection), zap.String("delivery", rec.ID), zap.String("agent", rec.To),
		zap.String("outcome", string(rec.Outcome)), zap.String("reason", string(rec.Reason)))
	if d.Item != nil {
		e.opt.Deliveries.Wake(rec.To)
	}
	return *rec, nil
}
