// Package flow expands ready-made flows to plain connections when a configuration is compiled: engine, log and CLI know
// only connections. It is pure. A flow is a fixed set of rules, so its connections are always decided by their rules alone
// (dispatch legacy) and are re-armed when a person gives one of its agents something new to do (rearm human).
package flow

import (
	"fmt"
	"slices"
	"time"

	"github.com/madohub/madohub/config"
)

// Flow is one ready-made set of connections.
type Flow struct {
	Name    string
	Doc     string // one line
	Manual  string // what it does and where its limits are
	Roles   []string
	Example config.Flow
	expand  func(config.Flow) []config.Connection
}

// all are the flows of this version. A flow whose trigger does not exist yet (watcher: on-keyword) is not among them.
var all = []Flow{peerReview, pipeline}

// Names are the flows that this version has.
func Names() []string {
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.Name
	}
	return names
}

// Get finds a flow by its name.
func Get(name string) (Flow, bool) {
	i := slices.IndexFunc(all, func(f Flow) bool { return f.Name == name })
	if i < 0 {
		return Flow{}, false
	}
	return all[i], true
}

// Expand gives the connections that a flow stands for. They are named NAME/what-they-do.
func Expand(f config.Flow) ([]config.Connection, error) {
	kind, ok := Get(f.Flow)
	if !ok {
		return nil, fmt.Errorf("expand flow %q: there is no flow %q", f.Name, f.Flow)
	}
	if f.Name == "" {
		f.Name = f.Flow
	}
	conns := kind.expand(f)
	if len(conns) == 0 {
		return nil, fmt.Errorf("expand flow %q: it has too few agents", f.Name)
	}
	for i := range conns {
		c := &conns[i]
		if c.From == "" || c.To == "" || c.From == c.To {
			return nil, fmt.Errorf("expand flow %q: its roles must be filled by different agents", f.Name)
		}
		c.Flow, c.Pos = f.Name, f.Pos
		c.Dispatch, c.OnError, c.Enabled = "legacy", "legacy", true
		c.Guard = guard(c.Guard, f.Guard)
	}
	return conns, nil
}

// ExpandAll gives the connections of a configuration: those that the user drew, then those of the flows.
func ExpandAll(c *config.Config) ([]config.Connection, error) {
	conns := slices.Clone(c.Connections)
	for _, f := range c.Flows {
		more, err := Expand(f)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", f.Pos.Line, err)
		}
		conns = append(conns, more...)
	}
	return conns, nil
}

// YAML writes connections as they could stand in a configuration.
func YAML(conns []config.Connection) []byte { return config.ShowConnections(conns) }

// guard completes the guard of a flow by what the user set.
func guard(own, user config.Guard) config.Guard {
	if user.MaxRounds != 0 {
		own.MaxRounds = user.MaxRounds
	}
	if user.Cooldown != 0 {
		own.Cooldown = user.Cooldown
	}
	if user.StopKeyword != "" {
		own.StopKeyword = user.StopKeyword
	}
	if user.Rearm != "" {
		own.Rearm = user.Rearm
	}
	return own
}

// wrap is a connection that sends the source's answer in a template once it has finished.
func wrap(name, from, to, template string) config.Connection {
	return config.Connection{
		Name: name, From: from, To: to, Trigger: "on-idle", Transform: "prompt-wrap", Template: template,
		Guard: config.Guard{MaxRounds: 5, Cooldown: 3 * time.Second, Rearm: "human"},
	}
}

// text is a template of a flow, or what the user has put in its place.
func text(f config.Flow, role, own string) string {
	if t := f.Template[role]; t != "" {
		return t
	}
	return own
}
