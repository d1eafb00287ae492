package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/madohub/madohub/config"
)

// normalise puts argv in the order that urfave/cli v2 understands: command, flags, "--", arguments. By itself it stops
// looking for flags at the first argument, so that `send coder --wait hi` would send "--wait hi" (v2.27.7, 2026-11-30;
// urfave/cli#1177). What follows a "--" of the user is left as it is.
func normalise(app *cli.App, argv []string) ([]string, error) {
	n := &normaliser{commands: app.Commands, flags: [][]cli.Flag{app.Flags, {cli.HelpFlag, cli.VersionFlag}}}
	rest := slices.Clone(argv[1:])
	for len(rest) > 0 {
		arg := rest[0]
		rest = rest[1:]
		var err error
		switch {
		case arg == "--":
			n.args, rest = append(n.args, rest...), nil
		case len(arg) > 1 && arg[0] == '-':
			rest, err = n.flag(arg, rest)
		default:
			err = n.word(arg)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(n.args) > 0 && n.wantsCommand() {
		return nil, unknownCommand(n.path, n.args[0], n.commands)
	}
	out := slices.Concat(argv[:1], n.path, n.given)
	if len(n.args) > 0 {
		out = append(append(out, "--"), n.args...)
	}
	return out, nil
}

type normaliser struct {
	path     []string       // commands so far
	commands []*cli.Command // what may follow
	flags    [][]cli.Flag   // what is known at this place
	given    []string
	args     []string
	help     bool
}

func (n *normaliser) wantsCommand() bool { return len(n.path) == 0 || len(n.commands) > 0 }

func (n *normaliser) word(arg string) error {
	if len(n.path) == 0 && arg == "help" && !n.help {
		n.help = true
		n.given = append(n.given, "--help")
		return nil
	}
	if len(n.args) == 0 {
		if i := slices.IndexFunc(n.commands, func(c *cli.Command) bool { return c.HasName(arg) }); i >= 0 {
			cmd := n.commands[i]
			n.path, n.commands = append(n.path, cmd.Name), cmd.Subcommands
			n.flags = append(n.flags, cmd.Flags)
			return nil
		}
	}
	if n.wantsCommand() {
		return unknownCommand(n.path, arg, n.commands)
	}
	n.args = append(n.args, arg)
	return nil
}

func unknownCommand(path []string, arg string, commands []*cli.Command) error {
	name := strings.Join(append([]string{"madohubctl"}, path...), " ")
	hint := fmt.Sprintf("see %s --help", name)
	if near := config.Nearest(arg, commandNames(commands)); near != "" {
		hint = fmt.Sprintf("did you mean %q?", name+" "+near)
	}
	return &usageError{fmt.Sprintf("unknown command %q", arg), hint}
}

// didYouMean is the hint for an unknown word: the nearest, else all that there are.
func didYouMean(given string, known []string) string {
	if near := config.Nearest(given, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known: " + strings.Join(known, ", ")
}

// flag takes one flag and its value from the arguments that follow.
func (n *normaliser) flag(arg string, rest []string) ([]string, error) {
	name, _, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	f := n.find(name)
	if f == nil && !strings.HasPrefix(arg, "--") {
		return n.cluster(arg, rest)
	}
	if f == nil {
		return nil, n.unknownFlag(arg, name)
	}
	n.given = append(n.given, arg)
	if _, isBool := f.(*cli.BoolFlag); isBool || hasValue {
		return rest, nil
	}
	if len(rest) == 0 {
		return nil, &usageError{fmt.Sprintf("%s needs a value", arg), ""}
	}
	// As one word, so that a value that begins with a dash is still a value.
	n.given[len(n.given)-1] = arg + "=" + rest[0]
	return rest[1:], nil
}

// cluster takes short flags that are written together, such as -fn20.
func (n *normaliser) cluster(arg string, rest []string) ([]string, error) {
	var found []string
	for i, r := range arg[1:] {
		f := n.find(string(r))
		if f == nil {
			return nil, n.unknownFlag(arg, strings.TrimLeft(arg, "-"))
		}
		if _, isBool := f.(*cli.BoolFlag); isBool {
			found = append(found, "-"+string(r))
			continue
		}
		n.given = append(n.given, found...)
		value := arg[1:][i+len(string(r)):]
		if value == "" {
			return n.flag("-"+string(r), rest)
		}
		n.given = append(n.given, "-"+string(r)+"="+value)
		return rest, nil
	}
	n.given = append(n.given, found...)
	return rest, nil
}

func (n *normaliser) find(name string) cli.Flag {
	for _, set := range n.flags {
		for _, f := range set {
			if slices.Contains(f.Names(), name) {
				return f
			}
		}
	}
	return nil
}

func (n *normaliser) unknownFlag(arg, name string) error {
	var names []string
	for _, set := range n.flags {
		for _, f := range set {
			names = append(names, f.Names()...)
		}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return len(n) == 1 || len(name) <= 2 })
	hint := `a text that begins with a dash goes after "--"`
	if near := config.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean --%s? A text that begins with a dash goes after \"--\"", near)
	}
	return &usageError{fmt.Sprintf("unknown flag %s", strings.SplitN(arg, "=", 2)[0]), hint}
}
