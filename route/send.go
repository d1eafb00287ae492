package route

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/route/guard"
	"github.com/madohub/madohub/route/trigger"
)

// SendRequest asks for a text to be typed by hand.
type SendRequest struct {
	To        string
	Text      string
	From      string // the agent that asks, "" for a person
	Operation string // the same operation of the same asker is the same record: nothing is typed twice
	By        string // "person" or the agent's name
}

// Send takes a text that a person or an agent sends through the gates into the queue. What a gate refuses comes back as a
// record with its reason, not as an error.
func (e *Engine) Send(ctx context.Context, req SendRequest) (record.Record, error) {
	e.sending.Lock()
	defer e.sending.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), decideTimeout)
	defer cancel()
	text := strings.TrimRight(req.Text, "\r\n")
	now := time.Now()
	rec := &record.Record{
		ID: newID(), Time: now, Updated: now, From: req.From, To: req.To, Origin: record.OriginCLI, Decision: record.Forward,
		SourceText: text, Text: text, By: req.By, Dispatch: dispatchLegacy,
	}
	rules := e.inForce()
	f := e.facts(rules, rec)
	if err := e.gather(ctx, f); err != nil {
		return record.Record{}, fmt.Errorf("send to %q: %w", req.To, err)
	}
	d := record.Decided{Record: rec, Operation: req.Operation}
	v := guard.Ask(slices.Concat(guard.Firing, guard.Text), f)
	if v.Outcome != "" {
		rec.Outcome, rec.Reason, rec.Detail = v.Outcome, v.Reason, v.Detail
	} else {
		d.Item = enqueue(rules, f)
	}
	return e.write(ctx, d)
}

// approveSends reports whether `approve:` names texts that are sent by hand or by agents.
func (r *Rules) approveSends() bool { return slices.Contains(r.cfg.Approve, "send") }

// Fire decides now on the source's last answer, through all gates. A turn that fired before fires once more; one that still
// waits for its silence fires instead of waiting.
func (e *Engine) Fire(ctx context.Context, connection, by string) (record.Record, error) {
	rules := e.inForce()
	c, ok := rules.rules[connection]
	w := e.worker(connection)
	if !ok || w == nil {
		return record.Record{}, rules.unknown(connection)
	}
	if by == "" {
		by = "person"
	}
	turn, found := e.opt.Agents.LastTurn(c.From)
	source, _ := e.opt.Agents.Agent(c.From)
	key := turnKey(source.SessionID, turn)
	w.deciding.Lock()
	defer w.deciding.Unlock()
	fire, waited := w.take(key)
	if !waited {
		fire = trigger.Firing{Key: key, Turn: turn, Evidence: source.Evidence}
		switch {
		case !found:
			fire.Skip, fire.Detail = record.NoAnswer, fmt.Sprintf("no ended turn of %q is known", c.From)
		case turn.Failure != "":
			fire.Skip, fire.Detail = turn.Failure, turn.Detail
		case turn.Answer == "":
			fire.Skip, fire.Detail = record.NoAnswer, fmt.Sprintf("the last turn of %q ended without a text", c.From)
		}
	}
	return e.decide(ctx, connection, fire, by)
}
