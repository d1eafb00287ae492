package route

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/route/guard"
)

// oursWindow is how far back a prompt may be one of ours that was typed before a restart.
const oursWindow = time.Hour

// switches are what a person can do to a connection. Each reports whether it changed something. Pausing is a person's own:
// only resume ends it. Rearm ends what rounds or a stop keyword did.
var switches = map[string]func(*record.Counter) bool{
	"pause": func(c *record.Counter) bool {
		changed := c.DisabledBy != record.DisabledByUser
		c.DisabledBy = record.DisabledByUser
		return changed
	},
	"resume": func(c *record.Counter) bool {
		changed := c.DisabledBy == record.DisabledByUser
		if changed {
			c.DisabledBy = ""
		}
		return changed
	},
	"rearm": rearm,
}

// rearm starts a new count and switches on what the guard had switched off.
func rearm(c *record.Counter) bool {
	changed := c.Round != 0
	c.Round = 0
	if c.DisabledBy == record.DisabledByRounds || c.DisabledBy == record.DisabledByKeyword {
		c.DisabledBy, changed = "", true
	}
	return changed
}

// Switch pauses, resumes or rearms connections: by name, by the name of their flow, or all. It returns them as they are now.
func (e *Engine) Switch(ctx context.Context, action string, names []string, all bool) ([]Connection, error) {
	change, ok := switches[action]
	if !ok {
		return nil, &NameError{What: "action", Name: action, Hint: fmt.Sprintf("there are %v", slices.Sorted(maps.Keys(switches)))}
	}
	rules := e.inForce()
	chosen, err := rules.choose(names, all)
	if err != nil {
		return nil, err
	}
	for _, name := range chosen {
		if err := e.update(ctx, name, change); err != nil {
			return nil, fmt.Errorf("%s %q: %w", action, name, err)
		}
		e.log.Info("switched", zap.String("connection", name), zap.String("action", action))
		e.opt.Deliveries.Wake(rules.rules[name].To)
	}
	views, err := e.views(ctx, chosen)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", action, err)
	}
	return views, nil
}

// choose finds the connections that names mean, in the order of the rules.
func (r *Rules) choose(names []string, all bool) ([]string, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		found := false
		for _, c := range r.rules {
			if c.Name == name || (c.Flow != "" && c.Flow == name) {
				wanted[c.Name], found = true, true
			}
		}
		if !found {
			return nil, r.unknown(name)
		}
	}
	var chosen []string
	for _, name := range r.order {
		if all || wanted[name] {
			chosen = append(chosen, name)
		}
	}
	return chosen, nil
}

func (r *Rules) unknown(name string) error {
	known := map[string]bool{}
	for _, c := range r.rules {
		known[c.Name] = true
		if c.Flow != "" {
			known[c.Flow] = true
		}
	}
	if known[name] { // only where one connection is asked for
		return &NameError{What: "connection", Name: name, Hint: "it is a flow, of " + strings.Join(r.of(name), ", ")}
	}
	err := &NameError{What: "connection or flow", Name: name, Hint: `"madohubctl status" lists them`}
	if n := guard.Nearest(name, known); n != "" {
		err.Hint = fmt.Sprintf("did you mean %q?", n)
	}
	return err
}

// of lists the connections of a flow, in the order of the rules.
func (r *Rules) of(flow string) []string {
	var names []string
	for _, name := range r.order {
		if r.rules[name].Flow == flow {
			names = append(names, name)
		}
	}
	return names
}

// update changes one counter if change says so.
func (e *Engine) update(ctx context.Context, name string, change func(*record.Counter) bool) error {
	e.setting.Lock()
	defer e.setting.Unlock()
	counters, err := e.opt.Store.Counters(ctx)
	if err != nil {
		return fmt.Errorf("read the counters: %w", err)
	}
	c := counters[name]
	c.Connection = name
	if !change(&c) {
		return nil
	}
	if err := e.opt.Store.SetCounter(ctx, c); err != nil {
		return fmt.Errorf("write the counter of %q: %w", name, err)
	}
	return nil
}

// human re-arms a connection with `rearm: human` when an agent of its loop took a prompt that is none of ours. When that
// can't be told, nothing is re-armed: a loop that ends too early harms nobody.
func (e *Engine) human(ctx context.Context, name string, ev Event) {
	c := e.inForce().rules[name]
	if c == nil || !c.Enabled || c.Guard.Rearm != "human" || !c.Group[ev.Agent] {
		return
	}
	at := ev.Prompt.Time
	if at.IsZero() {
		at = ev.At
	}
	ours, err := e.opt.Store.Ours(ctx, ev.Agent, ev.Prompt.Text, at.Add(-oursWindow))
	if err != nil {
		e.log.Error("look for a prompt among the deliveries", zap.String("agent", ev.Agent), zap.Error(err))
	}
	if ours || err != nil {
		return
	}
	if err := e.update(ctx, name, rearm); err != nil {
		e.log.Error("re-arm", zap.String("connection", name), zap.Error(err))
	}
}
