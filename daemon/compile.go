package daemon

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/config"
	"github.com/madohub/madohub/daemon/watch"
	"github.com/madohub/madohub/deliver"
	"github.com/madohub/madohub/route"
	"github.com/madohub/madohub/route/flow"
	"github.com/madohub/madohub/route/transform"
	"github.com/madohub/madohub/route/trigger"
	"github.com/madohub/madohub/session"
)

// generation is one compiled configuration. It is never changed, only replaced.
type generation struct {
	n      int
	cfg    *config.Config
	rules  *route.Rules
	agents map[string]*config.Agent
}

// Names are the words that this build knows, for config.Load.
func Names() config.Names {
	return config.Names{Kinds: agent.Names(), Triggers: trigger.Names(), Transforms: transform.Names(), Flows: flow.Names()}
}

// compile does all that can fail of a configuration, before anything in force is touched.
func (d *Daemon) compile(n int) (*generation, error) {
	sum := watch.Of(d.opt.Config) // before it is read: what is written in between is seen as a change
	d.tried.Store(&sum)
	cfg, err := config.Load(d.opt.Config, Names())
	if err != nil {
		return nil, err
	}
	rules, err := route.Compile(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.opt.Config, err)
	}
	gen := &generation{n: n, cfg: cfg, rules: rules, agents: map[string]*config.Agent{}}
	for i := range cfg.Agents {
		gen.agents[cfg.Agents[i].Name] = &cfg.Agents[i]
	}
	return gen, nil
}

// specs are the agents that live in panes.
func (g *generation) specs() []session.Spec {
	var specs []session.Spec
	for _, a := range g.cfg.Agents {
		if !a.HasPane() {
			continue
		}
		s := session.Spec{Name: a.Name, Kind: a.Kind, Socket: a.Socket, Target: a.Pane, Complete: a.CompletePattern}
		if a.Match != nil {
			s.Match = session.Match(*a.Match)
		}
		specs = append(specs, s)
	}
	return specs
}

// typing is how an agent of a kind is typed into: what the kind knows, overridden by the configuration.
func (g *generation) typing(name, kind string) (deliver.Typing, error) {
	k, ok := agent.Get(kind)
	if !ok {
		return deliver.Typing{}, fmt.Errorf("agent %q: nothing is known of typing into kind %q", name, kind)
	}
	text := deliver.Typing{Text: k.Text, Boxless: k.Explicit}
	a, ok := g.agents[name]
	if !ok {
		return text, nil
	}
	if a.Typing.Mode != "" {
		text.Mode = a.Typing.Mode
	}
	if a.Typing.LineDelayMax > 0 {
		text.LineDelayMin, text.LineDelayMax = a.Typing.LineDelayMin, a.Typing.LineDelayMax
	}
	if a.Typing.BeforeSubmit > 0 {
		text.BeforeSubmit = a.Typing.BeforeSubmit
	}
	if a.Typing.MaxDuration > 0 {
		text.MaxDuration = a.Typing.MaxDuration
	}
	if a.Typing.Submit != "" {
		text.Submit = a.Typing.Submit
	}
	text.MultiLine = text.MultiLine || a.MultiLine
	return text, nil
}

// reloads loads the configuration again at each SIGHUP.
func (d *Daemon) reloads(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.opt.Reload:
			d.again()
		}
	}
}

// again loads the configuration for nobody who could be told of an error but the log.
func (d *Daemon) again() {
	if _, err := d.reload(); err != nil {
		d.log.Error("configuration rejected, the old one stays in force", zap.Error(err))
	}
}

// reload swaps the configuration, or leaves everything as it was and remembers why.
func (d *Daemon) reload() (api.ConfigState, error) {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	old := d.current.Load()
	gen, err := d.compile(old.n + 1)
	if err == nil {
		err = sameServers(old.cfg, gen.cfg)
	}
	d.metrics.Reloaded(err)
	if err != nil {
		text := err.Error()
		d.refused.Store(&text)
		return d.configState(), err
	}
	d.current.Store(gen)
	d.refused.Store(nil)
	d.sessions.SetSpecs(gen.specs())
	if err := d.engine.Swap(gen.rules); err != nil {
		return d.configState(), err
	}
	d.log.Info("configuration in force", zap.Int("generation", gen.n))
	return d.configState(), nil
}

// sameServers refuses a reload that names other tmux servers: connections to them live as long as the process.
func sameServers(old, new *config.Config) error {
	if len(old.Tmux) != len(new.Tmux) {
		return errors.New("tmux: the servers changed; restart madohub for this")
	}
	for i := range old.Tmux {
		if old.Tmux[i] != new.Tmux[i] {
			return fmt.Errorf("tmux: socket %q, poll %s changed to socket %q, poll %s; restart madohub for this",
				old.Tmux[i].Socket, old.Tmux[i].Poll, new.Tmux[i].Socket, new.Tmux[i].Poll)
		}
	}
	return nil
}

func (d *Daemon) configState() api.ConfigState {
	gen := d.current.Load()
	s := api.ConfigState{File: d.opt.Config, Generation: gen.n}
	if why := d.refused.Load(); why != nil {
		s.Error = *why
	}
	return s
}
