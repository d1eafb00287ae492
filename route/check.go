package route

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/route/guard"
)

// Verdict is what the gates say of a text. The zero Verdict lets it go.
type Verdict = guard.Verdict

// Check says whether a queued text may be typed now as far as rules tell. It is asked before every attempt, in the order:
// the rule still stands, it is switched on, its rounds, approval, cooldown, spacing. The zero Verdict lets the text go.
func (e *Engine) Check(ctx context.Context, item record.Item, now time.Time) Verdict {
	counters, err := e.opt.Store.Counters(ctx)
	if err != nil {
		// Not known is not allowed: without its counters no connection delivers.
		e.log.Error("read the counters", zap.String("delivery", item.Record.ID), zap.Error(err))
		return Verdict{Outcome: record.Held, Reason: record.StateIsUnknown, Detail: "the counters can't be read: " + err.Error()}
	}
	rules := e.inForce()
	f := e.facts(rules, &item.Record)
	f.Now, f.Item, f.Counters, f.Rule = now, &item, counters, rules.rules[item.Record.Connection]
	if v := guard.Ask(guard.Typing, f); v.Outcome != "" {
		return v
	}
	if f.Rule != nil {
		e.pace.LetGo(f.Rule.Name, now)
	}
	e.chains.LetGo(item.Target, item.Record.ID, item.Record.Text, item.Record.Hops, now)
	return Verdict{}
}
