package main

import (
	"github.com/urfave/cli/v2"
)

// switchCommand makes pause, resume and rearm.
func (c *ctl) switchCommand(action string) *cli.Command {
	about := map[string][2]string{
		"pause":  {"switch connections off until they are resumed", "What they hold ends as blocked/paused, and nothing but resume switches them on."},
		"resume": {"switch paused connections on again", "The round count goes on where it was."},
		"rearm":  {"start the round count anew", "Also ends what rounds or a stop keyword had disabled; a paused connection stays paused."},
	}[action]
	return c.command(spec{
		name: action, args: "CONNECTION|FLOW…|--all", short: about[0],
		long:    "In force at once, and kept over restarts. A flow's name stands for all its connections. " + about[1],
		example: "madohubctl " + action + " review-loop\nmadohubctl " + action + " --all",
		flags:   []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "every connection"}},
		action:  func(cc *cli.Context) error { return c.switchConnections(cc, action) },
	})
}

func (c *ctl) switchConnections(cc *cli.Context, action string) error {
	names, err := arguments(cc, "NAME", 0, -1)
	if err != nil {
		return err
	}
	everything := cc.Bool("all")
	if everything == (len(names) > 0) {
		return &usageError{"either names of connections or flows are needed, or --all", "see madohubctl " + action + " --help"}
	}
	a, err := c.client(cc)
	if err != nil {
		return err
	}
	changed, err := a.Switch(cc.Context, action, names, everything)
	if err != nil {
		return err
	}
	if cc.Bool("json") {
		return c.ui.json(changed, false)
	}
	c.ui.connections(changed)
	return nil
}
