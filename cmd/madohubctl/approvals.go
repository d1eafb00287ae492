package main

import (
	"github.com/urfave/cli/v2"

	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/record"
)

func (c *ctl) approvalsCommand() *cli.Command {
	return c.command(spec{
		name: "approvals", short: "what waits for a human",
		example: "madohubctl approvals",
		action: func(cc *cli.Context) error {
			return c.list(cc, "nothing waits for approval", func(q api.Queued) bool { return q.Reason == record.NeedsApproval })
		},
	})
}

// approveCommand makes approve and deny.
func (c *ctl) approveCommand(name string) *cli.Command {
	short := "let a text go that waits for a human"
	if name == "deny" {
		short = "refuse a text that waits for a human"
	}
	return c.command(spec{
		name: name, args: "ID", short: short,
		long:    "The id may be shortened; `madohubctl approvals` shows it, `madohubctl log ID` the whole text.",
		example: "madohubctl approvals\nmadohubctl " + name + " r_01JDXK3F8Q2A",
		action: func(cc *cli.Context) error {
			return c.act(cc, func(a *api.Client, id string) (record.Record, error) {
				return a.Approve(cc.Context, id, name == "approve")
			})
		},
	})
}
