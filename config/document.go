package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/madohub/madohub/config/strict"
)

// Words that the contract names. Which kinds, triggers, transforms and flows this version has is told by Names.
var (
	contractKinds      = []string{"claude", "codex", "amp", "opencode", "gemini", "shell"}
	contractTriggers   = []string{"on-idle", "on-complete", "on-keyword", "always"}
	contractTransforms = []string{"raw", "full-output", "prompt-wrap", "summary", "ai-routing"}
	contractFlows      = []string{"peer-review", "pipeline", "watcher"}
	dispatches         = []string{"madoagent", "legacy", "shadow"}
	toolNames          = []string{"send_to_agent", "switch_agent", "set_route"}
	approvable         = []string{"send", "send_to_agent", "switch_agent", "set_route"}
)

// The largest text that may stand in one value.
const maxTemplate = 100_000

// decoder reads the document of a configuration.
type decoder struct {
	*strict.Decoder
	names Names
}

type (
	value = strict.Value
	field = strict.Field
)

func key(name string, read func(value)) field { return field{Key: name, Read: read} }

func defaults(file string) *Config {
	return &Config{
		File:      file,
		Dispatch:  "madoagent",
		IdleDelay: 8 * time.Second,
		Limits: Limits{
			MaxHops: 5, HoldFor: 30 * time.Minute, QueueDepth: 20, MaxText: 100_000,
			TargetSpacing: 3 * time.Second,
		},
		Approve: []string{"switch_agent", "set_route"},
		Log:     Log{Keep: 90 * 24 * time.Hour},
	}
}

func defaultTmux() Tmux { return Tmux{Socket: "default", Poll: 500 * time.Millisecond} }

func (d *decoder) document(c *Config) []field {
	return []field{
		key("tmux", d.tmux(&c.Tmux)),
		key("dispatch", d.Word(&c.Dispatch, dispatches...)),
		key("idle_delay", d.Duration(&c.IdleDelay, 100*time.Millisecond, time.Hour)),
		key("llm", func(v value) {
			c.LLM = &LLM{Timeout: time.Minute}
			d.Mark(c.LLM, v)
			d.Object(v, d.llm(c.LLM))
		}),
		key("agents", strict.List(d.Decoder, &c.Agents, func(a *Agent) func(value) {
			return func(v value) {
				a.Kind, a.Consult, a.Pos = "auto", "fresh", Pos{v.Node.Line, v.Node.Column}
				if d.Object(v, d.agent(a)) {
					d.Mark(a, v)
				}
			}
		})),
		key("connections", strict.List(d.Decoder, &c.Connections, func(x *Connection) func(value) {
			return func(v value) {
				*x = Connection{
					Trigger: "on-idle", Transform: "prompt-wrap", Enabled: true, OnError: "legacy",
					Guard: defaultGuard(), Pos: Pos{v.Node.Line, v.Node.Column},
				}
				if d.Object(v, d.connection(x)) {
					d.Mark(x, v)
				}
			}
		})),
		key("flows", strict.List(d.Decoder, &c.Flows, func(f *Flow) func(value) {
			return func(v value) {
				f.Pos = Pos{v.Node.Line, v.Node.Column}
				if d.Object(v, d.flow(f)) {
					d.Mark(f, v)
				}
			}
		})),
		key("limits", func(v value) { d.Object(v, d.limits(&c.Limits)) }),
		key("approve", strict.List(d.Decoder, &c.Approve, d.Line)),
		key("envelope", d.Boolean(&c.Envelope)),
		key("notify", func(v value) { d.Object(v, []field{key("command", d.command(&c.Notify.Command))}) }),
		key("log", func(v value) {
			d.Object(v, []field{key("keep", d.Duration(&c.Log.Keep, time.Hour, 100*365*24*time.Hour))})
		}),
	}
}

func defaultGuard() Guard { return Guard{MaxRounds: 5, Cooldown: 3 * time.Second, Rearm: "manual"} }

// tmux reads one server or a list of servers.
func (d *decoder) tmux(p *[]Tmux) func(value) {
	one := func(t *Tmux) func(value) {
		*t = defaultTmux()
		return func(v value) {
			d.Mark(t, v)
			d.Object(v, d.server(t))
		}
	}
	return func(v value) {
		switch n := strict.Target(v.Node); {
		case n.Kind == yaml.SequenceNode:
			strict.List(d.Decoder, p, one)(v)
		case strict.Null(n):
		case n.Kind == yaml.MappingNode:
			*p = make([]Tmux, 1)
			one(&(*p)[0])(v)
		default:
			d.Wrong(v, "a mapping with socket, poll, or a list of such mappings", "")
		}
	}
}

func (d *decoder) server(t *Tmux) []field {
	return []field{
		key("socket", d.socket(&t.Socket)),
		key("poll", d.Duration(&t.Poll, 100*time.Millisecond, 10*time.Second)),
	}
}

func (d *decoder) socket(p *string) func(value) {
	read := d.Line(p)
	return func(v value) {
		read(v)
		*p = expandHome(*p)
		switch {
		case *p == "":
			d.Add(v, "the socket is empty", `a name such as default (tmux -L) or an absolute path (tmux -S)`)
		case strings.Contains(*p, "/") && !filepath.IsAbs(*p):
			d.Add(v, fmt.Sprintf("%s is neither a name nor an absolute path", strict.Quote(*p)), "a name is for tmux -L, a path for tmux -S")
		case strings.HasPrefix(*p, "-"):
			d.Add(v, fmt.Sprintf("%s begins with a dash", strict.Quote(*p)), "")
		}
	}
}

// expandHome puts the home directory in the place of a leading ~.
func expandHome(path string) string {
	if path != "~" && !strings.HasPrefix(path, "~/") {
		return path
	}
	home := homeDir()
	if home == "" {
		return path
	}
	return filepath.Join(home, path[1:])
}

// path reads an absolute path, or one that begins with ~/.
func (d *decoder) path(p *string) func(value) {
	read := d.Line(p)
	return func(v value) {
		read(v)
		*p = expandHome(*p)
		if *p != "" && !filepath.IsAbs(*p) {
			d.Add(v, fmt.Sprintf("%s is not an absolute path", strict.Quote(*p)), "begin it with / or ~/")
		}
	}
}

// command reads a program and its arguments.
func (d *decoder) command(p *[]string) func(value) {
	read := strict.List(d.Decoder, p, d.Line)
	return func(v value) {
		if n := strict.Target(v.Node); n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
			d.Mark(p, v)
			d.Wrong(v, "a list of the program and its arguments", fmt.Sprintf("write [%s]", strings.Join(strings.Fields(n.Value), ", ")))
			return
		}
		read(v)
		if len(*p) > 0 && (*p)[0] == "" {
			d.Add(v, "the program's name is empty", "")
		}
	}
}

func (d *decoder) llm(l *LLM) []field {
	return []field{
		key("provider", d.Word(&l.Provider, "anthropic", "openai", "command", "mock")),
		key("model", d.Line(&l.Model)),
		key("base_url", d.Line(&l.BaseURL)),
		key("api_key_env", d.Line(&l.APIKeyEnv)),
		key("api_key_file", d.path(&l.APIKeyFile)),
		key("command", d.command(&l.Command)),
		key("timeout", d.Duration(&l.Timeout, time.Second, 30*time.Minute)),
	}
}

func (d *decoder) agent(a *Agent) []field {
	t := &a.Typing
	return []field{
		key("name", d.Name(&a.Name, "")),
		key("socket", d.socket(&a.Socket)),
		key("pane", d.Line(&a.Pane)),
		key("match", func(v value) {
			a.Match = &Match{}
			d.Mark(&a.Match, v)
			d.Object(v, d.match(a.Match))
		}),
		key("kind", d.Known(&a.Kind, "kind", append([]string{"auto"}, slices.DeleteFunc(slices.Clone(d.names.Kinds), isAuto)...), contractKinds)),
		key("can_message", strict.List(d.Decoder, &a.CanMessage, d.Line)),
		key("tools", strict.List(d.Decoder, &a.Tools, func(p *string) func(value) { return d.Word(p, toolNames...) })),
		key("complete_pattern", d.Regexp(&a.CompletePattern)),
		key("typing", func(v value) {
			d.Mark(t, v)
			d.Object(v, d.typing(t))
		}),
		key("consult", d.Word(&a.Consult, "fresh", "pane")),
		key("multi_line", d.Boolean(&a.MultiLine)),
		key("model", d.Line(&a.Model)),
		key("command", d.command(&a.Command)),
		key("cwd", d.path(&a.Cwd)),
	}
}

func (d *decoder) match(m *Match) []field {
	return []field{
		key("session", d.Line(&m.Session)), key("window", d.Line(&m.Window)), key("title", d.Line(&m.Title)),
		key("cwd", d.path(&m.Cwd)), key("command", d.Line(&m.Command)),
	}
}

func (d *decoder) typing(t *Typing) []field {
	return []field{
		key("mode", d.Word(&t.Mode, "lines", "paste")),
		key("line_delay", d.Delays(&t.LineDelayMin, &t.LineDelayMax, 5*time.Second)),
		key("before_submit", d.Duration(&t.BeforeSubmit, 10*time.Millisecond, 10*time.Second)),
		key("max_duration", d.Duration(&t.MaxDuration, time.Second, 5*time.Minute)),
		key("submit", d.Word(&t.Submit, submitKeys...)),
	}
}

func isAuto(s string) bool { return s == "auto" }

// submitKeys are the keys that agents take as "send". A free choice could hold C-c.
var submitKeys = []string{"Enter", "KPEnter", "C-Enter", "M-Enter", "S-Enter", "C-m", "C-j", "C-s", "C-x", "Tab"}

func (d *decoder) connection(x *Connection) []field {
	return []field{
		key("name", d.Name(&x.Name, connectionExtra)),
		key("from", d.Line(&x.From)),
		key("to", d.Line(&x.To)),
		key("trigger", d.Known(&x.Trigger, "trigger", d.names.Triggers, contractTriggers)),
		key("keyword", d.Regexp(&x.Keyword)),
		key("transform", d.Known(&x.Transform, "transform", d.names.Transforms, contractTransforms)),
		key("template", d.Text(&x.Template, maxTemplate)),
		key("dispatch", d.Word(&x.Dispatch, dispatches...)),
		key("enabled", d.Boolean(&x.Enabled)),
		key("guard", func(v value) { d.Object(v, d.guard(&x.Guard)) }),
		key("confirm", d.Boolean(&x.Confirm)),
		key("on_error", d.Word(&x.OnError, "legacy", "skip")),
	}
}

// connectionExtra are the characters of connection names that names of agents don't have: those of "review-loop/revise" and "a->b".
const connectionExtra = "/>"

func (d *decoder) guard(g *Guard) []field {
	return []field{
		key("max_rounds", d.Integer(&g.MaxRounds, 1, 20)),
		key("cooldown", d.Duration(&g.Cooldown, time.Second, 30*time.Second)),
		key("stop_keyword", d.Line(&g.StopKeyword)),
		key("rearm", d.Word(&g.Rearm, "manual", "human")),
	}
}

func (d *decoder) flow(f *Flow) []field {
	a := &f.Agents
	return []field{
		key("flow", d.Known(&f.Flow, "flow", d.names.Flows, contractFlows)),
		key("name", d.Name(&f.Name, "")),
		key("agents", func(v value) {
			d.Mark(a, v)
			d.Object(v, d.roles(a))
		}),
		key("guard", func(v value) { d.Object(v, d.guard(&f.Guard)) }),
		key("template", func(v value) {
			var byRole [len(templateRoles)]string
			fields := make([]field, len(templateRoles))
			for i, role := range templateRoles {
				fields[i] = key(role, d.Text(&byRole[i], maxTemplate))
			}
			d.Object(v, fields)
			f.Template = map[string]string{}
			for i, role := range templateRoles {
				if p := &byRole[i]; d.Has(p) {
					f.Template[role] = byRole[i]
					d.Mark(templateAt{f, role}, d.At(p))
				}
			}
		}),
	}
}

func (d *decoder) roles(a *FlowAgents) []field {
	return []field{
		key("author", d.Line(&a.Author)), key("reviewer", d.Line(&a.Reviewer)), key("stages", strict.List(d.Decoder, &a.Stages, d.Line)),
		key("watched", d.Line(&a.Watched)), key("observer", d.Line(&a.Observer)),
	}
}

// templateRoles are the roles whose text a flow lets the user change: the role that gets the text.
var templateRoles = [...]string{"author", "reviewer", "stage", "observer"}

type templateAt struct {
	flow *Flow
	role string
}

func (d *decoder) limits(l *Limits) []field {
	return []field{
		key("max_hops", d.Integer(&l.MaxHops, 1, 50)),
		key("hold_for", d.Duration(&l.HoldFor, time.Second, 30*24*time.Hour)),
		key("queue_depth", d.Integer(&l.QueueDepth, 1, 1000)),
		key("max_text", d.Size(&l.MaxText, 100, 10_000_000)),
		key("target_spacing", d.Duration(&l.TargetSpacing, 0, 5*time.Minute)),
	}
}
