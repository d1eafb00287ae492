package main

import (
	"github.com/urfave/cli/v2"
)

func (c *ctl) fireCommand() *cli.Command {
	return c.command(spec{
		name: "fire", args: "CONNECTION", short: "fire a connection now, with its source's last answer",
		long: "Fires a connection with the last answer of its source, through all gates and in the same log as any other firing. " +
			"Exit code 0 if it was delivered, 4 if it is held, 1 otherwise.",
		example: "madohubctl fire review",
		action: func(cc *cli.Context) error {
			args, a, err := c.begin(cc, "CONNECTION", 1)
			if err != nil {
				return err
			}
			rec, err := a.Fire(cc.Context, args[0])
			if err != nil {
				return err
			}
			return c.delivered(cc, a, rec)
		},
	})
}
