package route

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/route/guard"
)

// Connection is one rule with its present counters.
type Connection struct {
	Name, Flow, From, To string
	Trigger, Transform   string
	Dispatch             string            // in force
	DisabledBy           record.DisabledBy // "" while it is on
	Round, MaxRounds     int
	CooldownUntil        time.Time // zero if there is none now
	LastID               string    // newest record
	LastOutcome          record.Outcome
	LastReason           record.Reason
	LastTime             time.Time
	Waiting              string // "fires in 5 s", while the silence runs
}

// statusTimeout bounds reading for a status that is asked for without a context.
const statusTimeout = 5 * time.Second

// Connections lists all rules, those that the user drew first, then those of flows.
func (e *Engine) Connections() []Connection {
	ctx, cancel := context.WithTimeout(context.Background(), statusTimeout)
	defer cancel()
	views, err := e.views(ctx, e.inForce().order)
	if err != nil {
		e.log.Error("read the connections", zap.Error(err))
	}
	return views
}

func (e *Engine) views(ctx context.Context, names []string) ([]Connection, error) {
	counters, err := e.opt.Store.Counters(ctx)
	if err != nil {
		err = fmt.Errorf("read the counters: %w", err)
	}
	rules := e.inForce()
	now := time.Now()
	views := []Connection{}
	for _, name := range names {
		c, ok := rules.rules[name]
		if !ok {
			continue // removed by a reload a moment ago
		}
		views = append(views, e.view(ctx, c, counters[name], now))
	}
	return views, err
}

func (e *Engine) view(ctx context.Context, r *guard.Rule, c record.Counter, now time.Time) Connection {
	c.Connection = r.Name
	v := Connection{
		Name: r.Name, Flow: r.Flow, From: r.From, To: r.To, Trigger: r.Trigger, Transform: r.Transform,
		Dispatch: dispatchLegacy, DisabledBy: guard.OffBy(c, r), Round: c.Round, MaxRounds: r.Guard.MaxRounds, LastID: c.LastID,
	}
	if until := guard.CoolUntil(e.pace, c, r, now); until.After(now) {
		v.CooldownUntil = until.Round(0)
	}
	if w := e.worker(r.Name); w != nil {
		v.Waiting = w.waiting(now)
	}
	if c.LastID == "" {
		return v
	}
	if last, err := e.opt.Store.Record(ctx, c.LastID); err == nil {
		v.LastOutcome, v.LastReason, v.LastTime = last.Outcome, last.Reason, last.Updated
	}
	return v
}

// The dispatches.
const (
	dispatchLegacy    = "legacy"
	dispatchMadoagent = "madoagent"
	dispatchShadow    = "shadow"
)

// DispatchState is how firings are decided, and why so.
type DispatchState struct{ Configured, Effective, Why string }

// Dispatch tells which dispatch is configured and which is in force (D6).
func (e *Engine) Dispatch() DispatchState {
	rules := e.inForce()
	d := DispatchState{Configured: rules.cfg.Dispatch, Effective: dispatchLegacy}
	if d.Configured == "" {
		d.Configured = dispatchMadoagent
	}
	switch {
	case d.Configured == dispatchLegacy:
		d.Why = "as configured"
	case d.Configured != dispatchMadoagent && d.Configured != dispatchShadow:
		d.Why = fmt.Sprintf("dispatch %q is not known", d.Configured)
	case rules.cfg.LLM == nil:
		d.Why = fmt.Sprintf("no model is configured (llm:), and dispatch %s needs one: rules decide alone", d.Configured)
	default:
		d.Why = fmt.Sprintf("dispatch %s is not part of this version: rules decide alone", d.Configured)
	}
	return d
}
