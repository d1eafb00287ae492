package main

import (
	"github.com/urfave/cli/v2"

	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/record"
)

func (c *ctl) resolveCommand() *cli.Command {
	return c.command(spec{
		name: "resolve", args: "ID --typed|--retry|--drop", short: "settle by hand a delivery whose end is unknown",
		long: "After a crash in the middle of a delivery its outcome is unknown, and it is never typed again by itself. Look at the target's pane, " +
			"then say what you saw: --typed if the text is there, --retry to have it typed again through all gates, --drop to let it be.",
		example: "madohubctl resolve last --drop",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "typed", Usage: "the text arrived"},
			&cli.BoolFlag{Name: "retry", Usage: "it did not arrive: type it again"},
			&cli.BoolFlag{Name: "drop", Usage: "it did not arrive, and is not wanted any more"},
		},
		action: func(cc *cli.Context) error {
			var how []string
			for _, name := range []string{"typed", "retry", "drop"} {
				if cc.Bool(name) {
					how = append(how, name)
				}
			}
			if len(how) != 1 {
				return &usageError{"exactly one of --typed, --retry, --drop is needed", "see madohubctl resolve --help"}
			}
			return c.act(cc, func(a *api.Client, id string) (record.Record, error) { return a.Resolve(cc.Context, id, how[0]) })
		},
	})
}
