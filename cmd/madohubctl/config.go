package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/config"
	"github.com/madohub/madohub/route/flow"
	"github.com/madohub/madohub/route/transform"
	"github.com/madohub/madohub/route/trigger"
)

// names are the words that this version knows.
func names() config.Names {
	return config.Names{Kinds: agent.Names(), Triggers: trigger.Names(), Transforms: transform.Names(), Flows: flow.Names()}
}

func (c *ctl) configCommand() *cli.Command {
	return c.command(spec{
		name: "config", args: "init|check|show", short: "write, check and show the configuration",
		example: "madohubctl config init\nmadohubctl config check",
		action:  func(cc *cli.Context) error { return noCommand("madohubctl config", cc.Command.Subcommands) },
		sub: []*cli.Command{
			c.command(spec{
				parent: "config", name: "init", short: "write a commented file to start from",
				long:    "Writes a commented configuration to start from. A file that exists is never touched.",
				example: "madohubctl config init", action: c.configInit,
			}),
			c.command(spec{
				parent: "config", name: "check", args: "[FILE]", short: "report everything that is wrong in the configuration",
				long: "Reads the configuration as the daemon would, and reports every problem with its place. Needs no daemon. " +
					"Exit code 2 if there is an error; warnings don't fail.",
				example: "madohubctl config check\nmadohubctl config check ./config.yaml", action: c.configCheck,
			}),
			c.command(spec{
				parent: "config", name: "show", args: "[FILE]", short: "the configuration with every default filled in",
				example: "madohubctl config show", action: c.configShow,
			}),
		},
	})
}

func (c *ctl) configInit(cc *cli.Context) error {
	if _, err := arguments(cc, "", 0, 0); err != nil {
		return err
	}
	s, err := settings(cc)
	if err != nil {
		return err
	}
	if err := config.Init(s.Config); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return &hinted{err, "edit it, or move it away first"}
		}
		return err
	}
	if cc.Bool("json") {
		return c.ui.json(map[string]string{"file": s.Config}, false)
	}
	c.ui.printf("%s\n", clean(s.Config))
	c.ui.say(`wrote a configuration to start from: edit it, then "madohubctl config check"`)
	return nil
}

// configFile is the file that is named by an argument, or the configured one.
func configFile(cc *cli.Context) (string, error) {
	args, err := arguments(cc, "FILE", 0, 1)
	if err != nil {
		return "", err
	}
	if len(args) == 1 {
		return args[0], nil
	}
	s, err := settings(cc)
	return s.Config, err
}

// checked is a configuration that was read as the daemon would read it.
type checked struct {
	file     string
	cfg      *config.Config      // nil if something is wrong
	conns    []config.Connection // with those of flows
	problems config.Problems
}

// check loads the configuration that is asked for and expands its flows.
func check(cc *cli.Context) (checked, error) {
	file, err := configFile(cc)
	if err != nil {
		return checked{}, err
	}
	r := checked{file: file}
	cfg, err := config.Load(file, names())
	switch {
	case errors.As(err, &r.problems):
		return r, nil
	case err != nil:
		return r, err
	}
	if r.conns, err = flow.ExpandAll(cfg); err != nil {
		r.problems = config.Problems{{File: file, Message: err.Error()}}
		return r, nil
	}
	r.cfg, r.problems = cfg, cfg.Warnings
	return r, nil
}

func (c *ctl) configCheck(cc *cli.Context) error {
	r, err := check(cc)
	if err != nil {
		return err
	}
	if cc.Bool("json") {
		if err := c.ui.json(checkJSON(r.file, r.problems), false); err != nil {
			return err
		}
	} else {
		c.ui.problems(r.file, r.problems)
	}
	switch {
	case r.cfg == nil:
		c.ui.error(fmt.Sprintf("%s: %s", r.file, count(len(r.problems.Errors()), "error")), "")
		return exit(exitUsage)
	case !cc.Bool("json"):
		c.ui.printf("%s is valid: %s, %s\n", clean(r.file), count(len(r.cfg.Agents), "agent"), count(len(r.conns), "connection"))
	}
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

type problemJSON struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Key     string `json:"key"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Warning bool   `json:"warning"`
}

type checkResult struct {
	File     string        `json:"file"`
	Valid    bool          `json:"valid"`
	Problems []problemJSON `json:"problems"`
}

func checkJSON(file string, problems config.Problems) checkResult {
	r := checkResult{File: file, Valid: len(problems.Errors()) == 0, Problems: []problemJSON{}}
	for _, p := range problems {
		r.Problems = append(r.Problems, problemJSON(p))
	}
	return r
}

// problems prints each problem with the line that it is about.
func (u *ui) problems(file string, problems config.Problems) {
	text, err := os.ReadFile(file)
	if err != nil {
		text = nil // the problems are worth printing without their lines
	}
	lines := strings.Split(string(text), "\n")
	for _, p := range problems {
		u.say("%s", clean(p.Error()))
		if p.Line < 1 || p.Line > len(lines) || len(lines[p.Line-1]) > 1000 {
			continue
		}
		line := strings.ReplaceAll(strings.TrimRight(lines[p.Line-1], "\r"), "\t", " ")
		before := string([]rune(line)[:min(max(p.Column-1, 0), len([]rune(line)))])
		u.say("%5d | %s", p.Line, cleanText(line))
		u.say("      | %s^", strings.Repeat(" ", cells.StringWidth(cleanText(before))))
	}
}

func (c *ctl) configShow(cc *cli.Context) error {
	r, err := check(cc)
	if err != nil {
		return err
	}
	if r.cfg == nil {
		return r.problems.Errors()
	}
	shown := config.Show(r.cfg)
	if cc.Bool("json") {
		v, err := config.Plain(shown)
		if err != nil {
			return err
		}
		return c.ui.json(v, false)
	}
	c.ui.printf("%s", cleanText(string(shown)))
	return nil
}
