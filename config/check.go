package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/madohub/madohub/config/strict"
)

func (d *decoder) checkTmux(c *Config) {
	seen := map[string]bool{}
	for i := range c.Tmux {
		t := &c.Tmux[i]
		if seen[t.Socket] {
			d.Add(d.Given(&t.Socket, d.At(t)), fmt.Sprintf("the socket %s is listed twice", strict.Quote(t.Socket)), "")
		}
		seen[t.Socket] = true
	}
}

func (d *decoder) checkLLM(c *Config, top value) {
	l := c.LLM
	if l == nil {
		return
	}
	at := d.Given(l, top)
	switch l.Provider {
	case "":
		if !d.Has(&l.Provider) {
			d.Add(at, "provider is missing", "one of anthropic, openai, command, mock")
		}
	case "command":
		if len(l.Command) == 0 {
			d.Add(at, "provider: command needs a command", "such as command: [claude, -p]")
		}
	case "anthropic", "openai":
		d.checkRemote(l, at)
	}
	if l.Provider != "command" && l.Provider != "" && d.Has(&l.Command) {
		d.Add(d.At(&l.Command), fmt.Sprintf("command is only for provider: command, the provider is %s", l.Provider), "")
	}
	if l.BaseURL != "" {
		d.checkURL(l)
	}
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkRemote checks what the providers behind a network need, and fills in where their key usually stands.
func (d *decoder) checkRemote(l *LLM, at value) {
	if l.Model == "" {
		d.Add(d.Given(&l.Model, at), fmt.Sprintf("provider: %s needs a model", l.Provider), "")
	}
	switch {
	case l.APIKeyEnv != "" && l.APIKeyFile != "":
		d.Add(d.At(&l.APIKeyFile), "both api_key_env and api_key_file are given", "keep one of them")
	case l.APIKeyEnv == "" && l.APIKeyFile == "":
		l.APIKeyEnv = map[string]string{"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}[l.Provider]
	case l.APIKeyEnv != "" && !envName.MatchString(l.APIKeyEnv):
		// The value is not shown: who puts the key itself here must not find it in a log.
		d.Add(d.At(&l.APIKeyEnv), "this is no name of an environment variable", "the name of the variable that holds the key, never the key itself")
	}
}

func (d *decoder) checkURL(l *LLM) {
	at := d.At(&l.BaseURL)
	u, err := url.Parse(l.BaseURL)
	switch {
	case err == nil && u.User != nil:
		d.Add(at, "base_url holds a user or password", "secrets go to api_key_env or api_key_file")
		l.BaseURL = ""
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		d.Add(at, fmt.Sprintf("%s is no http or https URL", strict.Quote(l.BaseURL)), "")
	case u.Scheme == "http" && !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()):
		d.Warn(at, "the key and all texts go to this server unencrypted", "use https, except for this machine")
	}
}

func (d *decoder) checkAgents(c *Config) {
	panes := map[string]string{}
	for i := range c.Agents {
		a := &c.Agents[i]
		if !d.Has(a) {
			continue // no mapping, which was said already
		}
		at := d.At(a)
		if a.Name == "" && !d.Has(&a.Name) {
			d.Add(at, "name is missing", "")
		}
		d.checkPlace(a, at)
		d.checkSocket(c, a)
		if a.MultiLine && a.Kind != "shell" && a.Kind != "" {
			d.Add(d.At(&a.MultiLine), "multi_line is only for kind: shell", "other kinds take several lines as one prompt anyway")
		}
		if a.HasPane() && (a.Match == nil || *a.Match != Match{}) {
			place := a.Socket + "\x00" + a.Pane
			if a.Match != nil {
				place += fmt.Sprintf("\x00%q", *a.Match)
			}
			if other, taken := panes[place]; taken {
				d.Add(d.Given(&a.Pane, d.Given(&a.Match, at)), fmt.Sprintf("agent %s is in this pane already", strict.Quote(other)), "two agents can't share a pane")
			}
			panes[place] = a.Name
		}
		d.checkMessages(c, a)
	}
}

// checkPlace checks that an agent is exactly one thing.
func (d *decoder) checkPlace(a *Agent, at value) {
	var ways []string
	for _, w := range []struct {
		name  string
		given bool
	}{{"pane", d.Has(&a.Pane)}, {"match", a.Match != nil}, {"model", d.Has(&a.Model)}, {"command", d.Has(&a.Command)}} {
		if w.given {
			ways = append(ways, w.name)
		}
	}
	hasPane := d.Has(&a.Pane) || a.Match != nil
	switch {
	case len(ways) == 0:
		d.Add(at, "an agent needs one of pane, match, model, command", "such as pane: work:1.0")
	case len(ways) == 2 && hasPane && ways[1] == "command": // the command of a fresh run of the agent in the pane
	case len(ways) > 1:
		d.Add(at, fmt.Sprintf("an agent needs exactly one of pane, match, model, command; given are %s", strings.Join(ways, " and ")), "")
	}
	if d.Has(&a.Pane) && a.Pane == "" && d.Blank(&a.Pane) {
		d.Add(d.At(&a.Pane), "the pane is empty", `a tmux target such as work:1.0, or an id such as "%7"`)
	}
	if strings.HasPrefix(a.Pane, "-") {
		d.Add(d.At(&a.Pane), fmt.Sprintf("%s begins with a dash", strict.Quote(a.Pane)), "")
	}
	if a.Match != nil && *a.Match == (Match{}) {
		d.Add(d.At(&a.Match), "match is empty: it would be any pane", "give one of session, window, title, cwd, command")
	}
	if d.Has(&a.Command) && len(a.Command) == 0 {
		d.Add(d.At(&a.Command), "the command is empty", "such as command: [claude, -p]")
	}
	if hasPane || len(ways) == 0 {
		return
	}
	for key, p := range map[string]any{
		"socket": &a.Socket, "complete_pattern": &a.CompletePattern, "typing": &a.Typing,
		"consult": &a.Consult, "kind": &a.Kind,
	} {
		if v, given := d.At(p), d.Has(p); given {
			d.Add(v, fmt.Sprintf("%s is only for an agent in a pane, this one is a %s", key, ways[0]), "")
		}
	}
	a.Kind, a.Consult = "", ""
}

func (d *decoder) checkSocket(c *Config, a *Agent) {
	if a.Socket == "" {
		return
	}
	var sockets []string
	for _, t := range c.Tmux {
		if t.Socket == a.Socket {
			return
		}
		if t.Socket != "" && !slices.Contains(sockets, t.Socket) {
			sockets = append(sockets, t.Socket)
		}
	}
	d.Add(d.At(&a.Socket), fmt.Sprintf("the socket %s is not listed under tmux", strict.Quote(a.Socket)), d.DidYouMean(a.Socket, sockets))
}

func (d *decoder) checkMessages(c *Config, a *Agent) {
	for i := range a.CanMessage {
		p := &a.CanMessage[i]
		switch {
		case *p == "":
		case *p == a.Name:
			d.Add(d.At(p), "an agent can't message itself", "")
		case slices.Contains(a.CanMessage[:i], *p):
			d.Add(d.At(p), fmt.Sprintf("%s is named twice", strict.Quote(*p)), "")
		default:
			d.checkAgent(c, p)
		}
	}
	for i := range a.Tools {
		if slices.Contains(a.Tools[:i], a.Tools[i]) {
			d.Add(d.At(&a.Tools[i]), fmt.Sprintf("%s is named twice", strict.Quote(a.Tools[i])), "")
		}
	}
}

// checkAgent finds the agent that a reference names; nil if there is none.
func (d *decoder) checkAgent(c *Config, p *string) *Agent {
	var all []string
	for i := range c.Agents {
		if c.Agents[i].Name == *p && *p != "" {
			return &c.Agents[i]
		}
		if c.Agents[i].Name != "" {
			all = append(all, c.Agents[i].Name)
		}
	}
	if at, given := d.At(p), d.Has(p); given && (*p != "" || d.Blank(p)) {
		hint := d.DidYouMean(*p, all)
		if len(all) == 0 {
			hint = "no agents are configured"
		}
		d.Add(at, fmt.Sprintf("there is no agent %s", strict.Quote(*p)), hint)
	}
	return nil
}

// checkEnd finds the agent at one end of a rule, which must live in a pane.
func (d *decoder) checkEnd(c *Config, p *string, target bool) *Agent {
	a := d.checkAgent(c, p)
	if a == nil || a.HasPane() || d.Has(&a.Pane) || d.Has(&a.Match) {
		return a
	}
	why := "so nothing of it can be watched"
	if target {
		why = "so nothing can be typed into it; agents ask it with send_to_agent"
	}
	d.Add(d.At(p), fmt.Sprintf("agent %s has no pane, %s", strict.Quote(*p), why), "")
	return nil
}

// warnShell says what it means that a shell is a target.
func (d *decoder) warnShell(a *Agent, at value) {
	if a != nil && a.Kind == "shell" {
		d.Warn(at, fmt.Sprintf("agent %s is a shell: text that is sent to it runs there as commands", strict.Quote(a.Name)), "")
	}
}

// warnIdle warns of what this version checks and then does nothing with. What says no more than the default is left alone:
// Show writes it too. docs/configuration.md has the same list (a test compares).
func (d *decoder) warnIdle(c *Config) {
	warn := func(p any, set bool) {
		if set {
			d.Warn(d.At(p), "this has no effect in this version", "")
		}
	}
	warn(c.LLM, c.LLM != nil)
	for i := range c.Agents {
		a := &c.Agents[i]
		warn(&a.Model, a.Model != "")
		warn(&a.Command, len(a.Command) > 0)
		warn(&a.Cwd, a.Cwd != "")
		warn(&a.Tools, len(a.Tools) > 0)
		warn(&a.Consult, a.Consult == "pane")
	}
	for i := range c.Connections {
		x := &c.Connections[i]
		warn(&x.OnError, x.OnError == "skip")
	}
}
