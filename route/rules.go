package route

import (
	"fmt"
	"time"

	"github.com/madohub/madohub/config"
	"github.com/madohub/madohub/route/flow"
	"github.com/madohub/madohub/route/guard"
	"github.com/madohub/madohub/route/transform"
	"github.com/madohub/madohub/route/trigger"
)

// Rules are a compiled configuration: everything that can fail has not failed. They are never changed, only replaced.
type Rules struct {
	cfg    *config.Config
	agents map[string]*config.Agent
	order  []string // connections as written, then those of flows
	rules  map[string]*guard.Rule
	texts  map[string]transform.Info // by connection
}

// Defaults of a guard that a configuration made by hand, or a flow, left open; the file's own are filled in by config.
const (
	defaultRounds   = 5
	defaultCooldown = 3 * time.Second
)

// Compile turns a valid configuration into rules.
func Compile(cfg *config.Config) (*Rules, error) {
	r := &Rules{cfg: cfg, agents: map[string]*config.Agent{}, rules: map[string]*guard.Rule{}, texts: map[string]transform.Info{}}
	for i := range cfg.Agents {
		r.agents[cfg.Agents[i].Name] = &cfg.Agents[i]
	}
	connections, err := flow.ExpandAll(cfg)
	if err != nil {
		return nil, err
	}
	for _, c := range connections {
		if err := r.add(c); err != nil {
			return nil, fmt.Errorf("line %d: connection %q: %w", c.Pos.Line, c.Name, err)
		}
	}
	guard.FindLoops(r.rules, r.order)
	return r, nil
}

func (r *Rules) add(c config.Connection) error {
	c = withDefaults(c)
	if _, twice := r.rules[c.Name]; twice {
		return fmt.Errorf("the name is used twice")
	}
	for _, name := range []string{c.From, c.To} {
		a, ok := r.agents[name]
		if !ok {
			return fmt.Errorf("there is no agent %q%s", name, guard.DidYouMean(name, r.agents))
		}
		if !a.HasPane() {
			return fmt.Errorf("agent %q has no pane: only agents that live in one can be connected", name)
		}
	}
	if c.From == c.To {
		return fmt.Errorf("it leads from %q to itself", c.From)
	}
	if _, err := trigger.New(c.Trigger, 0); err != nil {
		return err
	}
	t, ok := transform.Get(c.Transform)
	if !ok {
		return fmt.Errorf("transform %q is not one of %v", c.Transform, transform.Names())
	}
	approve := c.Confirm
	for _, name := range r.cfg.Approve {
		approve = approve || name == c.Name || (c.Flow != "" && name == c.Flow)
	}
	r.rules[c.Name], r.texts[c.Name] = &guard.Rule{Connection: c, Approve: approve}, t
	r.order = append(r.order, c.Name)
	return nil
}

func withDefaults(c config.Connection) config.Connection {
	if c.Trigger == "" {
		c.Trigger = "on-idle"
	}
	if c.Transform == "" {
		c.Transform = "prompt-wrap"
	}
	if c.Guard.MaxRounds == 0 {
		c.Guard.MaxRounds = defaultRounds
	}
	if c.Guard.Cooldown == 0 {
		c.Guard.Cooldown = defaultCooldown
	}
	if c.Guard.Rearm == "" {
		c.Guard.Rearm = "manual"
		if c.Flow != "" {
			c.Guard.Rearm = "human"
		}
	}
	return c
}

// same reports whether a reload left a connection as it was; where it stands in the file does not matter.
func same(c, d *guard.Rule) bool {
	a, b := c.Connection, d.Connection
	a.Pos, b.Pos = config.Pos{}, config.Pos{}
	return a == b && c.Approve == d.Approve
}

// NameError says that a name is not known. Hint is a sentence with the nearest that is.
type NameError struct {
	What string // "connection or flow", "action" …
	Name string
	Hint string
}

// Error implements error.
func (e *NameError) Error() string { return fmt.Sprintf("there is no %s %q", e.What, e.Name) }
