package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/madohub/madohub/config"
	"github.com/madohub/madohub/route/flow"
)

func (c *ctl) flowCommand() *cli.Command {
	return c.command(spec{
		name: "flow", args: "list|show NAME", short: "built-in flows and what they expand to",
		example: "madohubctl flow list\nmadohubctl flow show peer-review",
		action:  func(cc *cli.Context) error { return noCommand("madohubctl flow", cc.Command.Subcommands) },
		sub: []*cli.Command{
			c.command(spec{parent: "flow", name: "list", short: "the built-in flows", example: "madohubctl flow list", action: c.flowList}),
			c.command(spec{
				parent: "flow", name: "show", args: "NAME", short: "the connections that a flow expands to, as YAML",
				long: "NAME is a flow of your configuration, or a built-in one, which is then shown with agents of the names of its example. " +
					"The YAML could stand in the configuration in the flow's place.",
				example: "madohubctl flow show peer-review",
				action:  c.flowShow,
			}),
		},
	})
}

func (c *ctl) flowList(cc *cli.Context) error {
	if _, err := arguments(cc, "", 0, 0); err != nil {
		return err
	}
	type item struct {
		Name  string   `json:"name"`
		Doc   string   `json:"doc"`
		Roles []string `json:"roles"`
	}
	items := []item{}
	t := table{header: []string{"FLOW", "ROLES", "WHAT IT DOES"}}
	for _, name := range flow.Names() {
		f, _ := flow.Get(name)
		items = append(items, item{f.Name, f.Doc, f.Roles})
		t.add(f.Name, strings.Join(f.Roles, ", "), f.Doc)
	}
	if cc.Bool("json") {
		return c.ui.json(items, false)
	}
	c.ui.table(t)
	return nil
}

func (c *ctl) flowShow(cc *cli.Context) error {
	args, err := arguments(cc, "NAME", 1, 1)
	if err != nil {
		return err
	}
	f, manual, err := findFlow(cc, args[0])
	if err != nil {
		return err
	}
	conns, err := flow.Expand(f)
	if err != nil {
		return err
	}
	shown := flow.YAML(conns)
	if cc.Bool("json") {
		v, err := config.Plain(shown)
		if err != nil {
			return err
		}
		return c.ui.json(v["connections"], false)
	}
	for _, line := range wrap(manual, c.ui.width-2) {
		c.ui.printf("# %s\n", line)
	}
	c.ui.printf("%s", cleanText(string(shown)))
	return nil
}

// findFlow finds a flow of the configuration by its name, else a built-in one.
func findFlow(cc *cli.Context, name string) (f config.Flow, manual string, err error) {
	kind, builtin := flow.Get(name)
	known := flow.Names()
	s, err := settings(cc)
	if err != nil {
		return f, "", err
	}
	cfg, err := config.Load(s.Config, names())
	if err == nil {
		for _, own := range cfg.Flows {
			if own.Name == name {
				k, _ := flow.Get(own.Flow)
				return own, k.Manual, nil
			}
			known = append(known, own.Name)
		}
	}
	if builtin {
		return kind.Example, kind.Manual, nil
	}
	return f, "", &usageError{fmt.Sprintf("there is no flow %q", name), didYouMean(name, known)}
}
