package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/record"
)

func (c *ctl) statusCommand() *cli.Command {
	return c.command(spec{
		name: "status", short: "daemon, agents, connections, queue, and how firings are decided",
		long: "Shows the daemon, each agent with its state and the evidence for it, each connection with its round and last outcome, " +
			"what waits in the queue, and the dispatch in force.",
		example: "madohubctl status\nmadohubctl status --json | jq '.agents[] | {name, state}'",
		action:  c.status,
	})
}

func (c *ctl) status(cc *cli.Context) error {
	_, a, err := c.begin(cc, "", 0)
	if err != nil {
		return err
	}
	s, err := a.Status(cc.Context)
	if err != nil {
		return err
	}
	if cc.Bool("json") {
		return c.ui.json(s, false)
	}
	c.ui.status(s)
	return nil
}

func (u *ui) status(s api.Status) {
	u.statusDaemon(s)
	u.statusAgents(s.Agents)
	u.printf("\n")
	u.connections(s.Connections)
	u.printf("\n")
	u.queue(s.Queue)
}

// fact writes one labelled line, wrapped under itself.
func (u *ui) fact(label, text string) {
	const column = 10
	for i, line := range wrap(clean(text), u.width-column) {
		if i > 0 {
			label = ""
		}
		u.printf("%-*s%s\n", column, label, line)
	}
}

func (u *ui) statusDaemon(s api.Status) {
	d := s.Daemon
	u.fact("daemon", fmt.Sprintf("running, pid %d, version %s, up %s", d.PID, d.Version, u.age(d.Started)))
	dispatch := s.Dispatch.Effective
	if s.Dispatch.Configured != s.Dispatch.Effective {
		dispatch += fmt.Sprintf(" (configured: %s)", s.Dispatch.Configured)
	}
	if s.Dispatch.Why != "" {
		dispatch += ": " + s.Dispatch.Why
	}
	u.fact("dispatch", dispatch)
	u.fact("config", fmt.Sprintf("%s, generation %d", s.Config.File, s.Config.Generation))
	if s.Config.Error != "" {
		for i, line := range strings.Split(s.Config.Error, "\n") {
			if i == 0 {
				u.fact("  error", "the file was refused, the configuration before it stays in force")
			}
			u.fact("", line)
		}
	}
	for _, t := range s.Tmux {
		if t.Error != "" {
			u.fact("tmux", fmt.Sprintf("%s: %s", t.Socket, t.Error))
			continue
		}
		u.fact("tmux", fmt.Sprintf("%s, %d panes", t.Socket, t.Panes))
	}
	for _, w := range s.Warnings {
		u.fact("warning", w)
	}
}

func (u *ui) statusAgents(agents []api.Agent) {
	u.printf("\n")
	if len(agents) == 0 {
		u.printf("no agents are configured\n")
		return
	}
	t := table{header: []string{"AGENT", "PANE", "KIND", "STATE", "EVIDENCE"}, flex: []int{4, 1}}
	problems := table{header: []string{"", ""}}
	for _, a := range agents {
		state := string(a.State)
		if a.Draft {
			state += ", draft"
		}
		if !a.Since.IsZero() {
			state += " " + u.age(a.Since)
		}
		pane := a.Target
		if a.PaneID != "" {
			pane = strings.TrimSpace(a.PaneID + " " + pane)
		}
		t.add(clean(a.Name), orDash(clean(pane)), orDash(clean(a.Kind)), clean(state), orDash(clean(a.Evidence)))
		if a.Problem != "" {
			problems.add(a.Name, a.Problem)
		}
	}
	u.table(t)
	for _, p := range problems.rows {
		u.note(p[0] + ": " + p[1])
	}
}

// note writes a remark under a table.
func (u *ui) note(text string) {
	for i, line := range wrap(clean(text), u.width-4) {
		if i == 0 {
			u.printf("  ! %s\n", line)
			continue
		}
		u.printf("    %s\n", line)
	}
}

func (u *ui) connections(conns []api.Connection) {
	if len(conns) == 0 {
		u.printf("no connections are configured\n")
		return
	}
	t := table{header: []string{"CONNECTION", "FROM → TO", "ON", "ROUND", "LAST"}, flex: []int{4, 1}}
	for _, x := range conns {
		t.add(clean(x.Name), route(x.From, x.To), switched(x), fmt.Sprintf("%d/%d", x.Round, x.MaxRounds), u.last(x))
	}
	u.table(t)
	for _, x := range conns {
		if !x.Enabled {
			u.note(x.Name + ": " + whyOff(x))
		}
		if x.Waiting != "" {
			u.note(x.Name + ": " + x.Waiting)
		}
		if x.CooldownUntil != nil && x.CooldownUntil.After(u.now()) {
			u.note(fmt.Sprintf("%s: cools down for %s", x.Name, span(x.CooldownUntil.Sub(u.now()))))
		}
	}
}

func switched(x api.Connection) string {
	if x.Enabled {
		return "on"
	}
	return "off"
}

// whyOff says why a connection is off, and what would switch it on.
func whyOff(x api.Connection) string {
	switch x.DisabledBy {
	case record.DisabledByUser:
		return fmt.Sprintf("paused; madohubctl resume %s", x.Name)
	case record.DisabledByConfig:
		return "enabled: false in the configuration"
	}
	return fmt.Sprintf("off by %s; madohubctl rearm %s", x.DisabledBy, x.Name)
}

func (u *ui) last(x api.Connection) string {
	if x.LastOutcome == "" {
		return "-"
	}
	last := outcome(x.LastOutcome, x.LastReason)
	if x.LastTime != nil {
		last += ", " + u.age(*x.LastTime) + " ago"
	}
	return last
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
