package config

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/madohub/madohub/config/strict"
)

// Show writes a configuration as YAML with every default visible. It can be loaded again. Secrets are in no
// configuration: only the name of the variable or file that holds a key is.
func Show(c *Config) []byte {
	tmux := each(c.Tmux, func(t Tmux) *yaml.Node { return mapping("socket", t.Socket, "poll", t.Poll) })
	doc := mapping("tmux", tmux, "dispatch", c.Dispatch, "idle_delay", c.IdleDelay)
	if l := c.LLM; l != nil {
		put(doc, "llm", mapping("provider", l.Provider, "model", l.Model, "base_url", l.BaseURL, "api_key_env", l.APIKeyEnv,
			"api_key_file", l.APIKeyFile, "command", l.Command, "timeout", l.Timeout))
	}
	put(doc, "agents", each(c.Agents, showAgent))
	put(doc, "connections", each(c.Connections, showConnection))
	put(doc, "flows", each(c.Flows, showFlow))
	put(doc, "limits", mapping("max_hops", c.Limits.MaxHops, "hold_for", c.Limits.HoldFor, "queue_depth", c.Limits.QueueDepth,
		"max_text", word(strict.FormatSize(c.Limits.MaxText)), "target_spacing", word(strict.FormatDuration(c.Limits.TargetSpacing))))
	put(doc, "approve", c.Approve)
	put(doc, "envelope", c.Envelope)
	if len(c.Notify.Command) > 0 {
		put(doc, "notify", mapping("command", c.Notify.Command))
	}
	put(doc, "log", mapping("keep", c.Log.Keep))
	return encode(doc)
}

// Plain is what Show or ShowConnections wrote as maps, lists and plain values, for other encodings.
func Plain(shown []byte) (map[string]any, error) {
	var v map[string]any
	if err := yaml.Unmarshal(shown, &v); err != nil {
		return nil, fmt.Errorf("read what is shown: %w", err)
	}
	return v, nil
}

// ShowConnections writes connections as YAML that could stand in a configuration.
func ShowConnections(conns []Connection) []byte {
	return encode(mapping("connections", each(conns, showConnection)))
}

func showAgent(a Agent) *yaml.Node {
	n := mapping("name", a.Name, "socket", a.Socket, "pane", a.Pane)
	if m := a.Match; m != nil {
		put(n, "match", mapping("session", m.Session, "window", m.Window, "title", m.Title, "cwd", m.Cwd, "command", m.Command))
	}
	put(n, "model", a.Model)
	put(n, "command", a.Command)
	put(n, "cwd", a.Cwd)
	put(n, "kind", a.Kind)
	put(n, "can_message", a.CanMessage)
	put(n, "tools", a.Tools)
	put(n, "complete_pattern", a.CompletePattern)
	t := a.Typing
	typing := mapping("mode", t.Mode)
	if t.LineDelayMax > 0 {
		put(typing, "line_delay", strict.FormatDuration(t.LineDelayMin)+"-"+strict.FormatDuration(t.LineDelayMax))
	}
	put(typing, "before_submit", t.BeforeSubmit)
	put(typing, "max_duration", t.MaxDuration)
	put(typing, "submit", t.Submit)
	if len(typing.Content) > 0 {
		put(n, "typing", typing)
	}
	put(n, "consult", a.Consult)
	if a.Kind == "shell" {
		put(n, "multi_line", a.MultiLine)
	}
	return n
}

func showConnection(x Connection) *yaml.Node {
	n := mapping("name", x.Name, "from", x.From, "to", x.To, "trigger", x.Trigger, "keyword", x.Keyword,
		"transform", x.Transform, "template", x.Template, "dispatch", x.Dispatch, "enabled", x.Enabled)
	put(n, "guard", showGuard(x.Guard))
	put(n, "confirm", x.Confirm)
	put(n, "on_error", x.OnError)
	return n
}

func showGuard(g Guard) *yaml.Node {
	return mapping("max_rounds", g.MaxRounds, "cooldown", g.Cooldown, "stop_keyword", g.StopKeyword, "rearm", g.Rearm)
}

func showFlow(f Flow) *yaml.Node {
	a := f.Agents
	n := mapping("flow", f.Flow, "name", f.Name, "agents",
		mapping("author", a.Author, "reviewer", a.Reviewer, "stages", a.Stages, "watched", a.Watched, "observer", a.Observer))
	if f.Guard != (Guard{}) {
		put(n, "guard", showGuard(f.Guard))
	}
	templates := mapping()
	for _, role := range templateRoles {
		put(templates, role, f.Template[role])
	}
	if len(templates.Content) > 0 {
		put(n, "template", templates)
	}
	return n
}

func encode(n *yaml.Node) []byte {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		panic(fmt.Sprintf("encode a tree of our own making: %v", err)) // a mistake in this file
	}
	return b.Bytes()
}

// mapping makes a mapping of keys and values in turn.
func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(pairs); i += 2 {
		put(n, pairs[i].(string), pairs[i+1])
	}
	return n
}

// word is a text that is shown although it may be that of a zero value.
type word string

// put adds a key unless its value is empty: nothing is what was not given and has no default.
func put(n *yaml.Node, key string, v any) {
	var val *yaml.Node
	switch v := v.(type) {
	case string:
		val = text(v)
	case word:
		val = &yaml.Node{Kind: yaml.ScalarNode, Value: string(v)}
	case bool:
		val = &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v)}
	case int:
		if v != 0 {
			val = &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v)}
		}
	case time.Duration:
		if v != 0 {
			val = text(strict.FormatDuration(v))
		}
	case []string:
		if len(v) > 0 || key == "approve" {
			val = &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
			for _, s := range v {
				val.Content = append(val.Content, quoted(s))
			}
		}
	case []*yaml.Node:
		val = &yaml.Node{Kind: yaml.SequenceNode, Content: v}
		if len(v) == 0 {
			val.Style = yaml.FlowStyle
		}
	case *yaml.Node:
		val = v
	}
	if val != nil {
		n.Content = append(n.Content, quoted(key), val)
	}
}

func text(s string) *yaml.Node {
	if s == "" {
		return nil
	}
	n := quoted(s)
	if strings.Contains(s, "\n") && !strings.Contains(s, "\r") {
		n.Style = yaml.LiteralStyle
	}
	return n
}

// quoted lets the library choose quotes, so that the text is read again as this text.
func quoted(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

func each[T any](items []T, show func(T) *yaml.Node) []*yaml.Node {
	nodes := make([]*yaml.Node, len(items))
	for i, item := range items {
		nodes[i] = show(item)
	}
	return nodes
}
