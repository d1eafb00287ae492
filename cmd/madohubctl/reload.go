package main

import (
	"github.com/urfave/cli/v2"
)

func (c *ctl) reloadCommand() *cli.Command {
	return c.command(spec{
		name: "reload", short: "load the configuration again",
		long: "Tells the daemon to load its configuration again, and says whether it was taken. A broken file changes nothing: " +
			"the configuration before it stays in force (exit code 2).",
		example: "madohubctl config check && madohubctl reload",
		action: func(cc *cli.Context) error {
			_, a, err := c.begin(cc, "", 0)
			if err != nil {
				return err
			}
			state, err := a.Reload(cc.Context)
			if err != nil {
				return err
			}
			if cc.Bool("json") {
				return c.ui.json(state, false)
			}
			c.ui.printf("%s is in force, generation %d\n", clean(state.File), state.Generation)
			return nil
		},
	})
}
