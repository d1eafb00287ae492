package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/madohub/madohub/api"
)

func (c *ctl) explainCommand() *cli.Command {
	return c.command(spec{
		name: "explain", args: "CONNECTION|ID", short: "why it did or didn't fire, rule by rule, with the evidence",
		example: "madohubctl explain review\nmadohubctl explain last",
		action: func(cc *cli.Context) error {
			args, a, err := c.begin(cc, "CONNECTION|ID", 1)
			if err != nil {
				return err
			}
			e, err := a.Explain(cc.Context, args[0])
			if err != nil {
				return err
			}
			if cc.Bool("json") {
				return c.ui.json(e, false)
			}
			c.ui.explanation(e)
			return nil
		},
	})
}

func (u *ui) explanation(e api.Explanation) {
	switch {
	case e.Record != nil:
		u.printf("%s, %s: %s\n", clean(e.Record.ID), by(e.Record.Connection), route(e.Record.From, e.Record.To))
	case e.Connection != nil:
		u.printf("%s: %s, %s, round %d of %d\n", clean(e.Connection.Name), route(e.Connection.From, e.Connection.To), switched(*e.Connection),
			e.Connection.Round, e.Connection.MaxRounds)
		if !e.Connection.Enabled {
			u.note(whyOff(*e.Connection))
		}
	}
	width := 0
	for _, check := range e.Checks {
		width = max(width, cells.StringWidth(clean(check.Name)))
	}
	for _, check := range e.Checks {
		mark := "ok"
		if !check.OK {
			mark = "NO"
		}
		name := cells.FillRight(clean(check.Name), width)
		lines := wrap(clean(check.Text), max(u.width-width-8, 20))
		if len(lines) == 0 {
			lines = []string{""}
		}
		for i, line := range lines {
			if i > 0 {
				mark, name = "  ", cells.FillRight("", width)
			}
			u.printf("%s\n", strings.TrimRight("  "+mark+"  "+name+"  "+line, " "))
		}
	}
	for _, line := range wrap(clean(e.Verdict), u.width) {
		u.printf("%s\n", line)
	}
}
