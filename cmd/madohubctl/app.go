package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/config"
)

// ctl is one run of the program.
type ctl struct {
	in io.Reader
	ui *ui

	warned bool // of a daemon of another version
}

// run is the whole program; the result is its exit code.
func (c *ctl) run(ctx context.Context, argv []string) int {
	app := c.app()
	args, err := normalise(app, argv)
	if err == nil {
		err = app.RunContext(ctx, args)
	}
	return c.ui.fail(err)
}

func (c *ctl) app() *cli.App {
	app := &cli.App{
		Name:            "madohubctl",
		Usage:           "control MadoHub",
		UsageText:       "madohubctl COMMAND [ARGUMENTS] [FLAGS]\n\nExample:\n   madohubctl status",
		Version:         ctlVersion(),
		HideHelpCommand: true,
		Writer:          c.ui.out,
		ErrWriter:       c.ui.err,
		Flags:           c.commonFlags(),
		ExitErrHandler:  func(*cli.Context, error) {}, // errors are printed in one place, ui.fail
		Action:          func(cc *cli.Context) error { return noCommand(cc.App.Name, cc.App.Commands) },
		Commands: []*cli.Command{
			c.statusCommand(), c.logCommand(), c.explainCommand(), c.sendCommand(), c.queueCommand(), c.resolveCommand(),
			c.switchCommand("pause"), c.switchCommand("resume"), c.switchCommand("rearm"), c.fireCommand(),
			c.approvalsCommand(), c.approveCommand("approve"), c.approveCommand("deny"),
			c.flowCommand(), c.configCommand(), c.reloadCommand(), c.versionCommand(),
		},
	}
	cli.VersionPrinter = func(*cli.Context) { c.ui.printf("madohubctl %s\n", ctlVersion()) }
	onUsageError(app.Commands)
	app.OnUsageError = usageErr
	return app
}

func onUsageError(commands []*cli.Command) {
	for _, cmd := range commands {
		cmd.OnUsageError = usageErr
		cmd.HideHelpCommand = true
		onUsageError(cmd.Subcommands)
	}
}

func usageErr(cc *cli.Context, err error, _ bool) error {
	return &usageError{err.Error(), fmt.Sprintf("see %s --help", cc.Command.HelpName)}
}

// spec describes one command.
type spec struct {
	parent     string // the command that this one belongs to
	name, args string
	short      string // one line, for the list of commands
	long       string // what the short line leaves open
	example    string
	flags      []cli.Flag
	action     func(*cli.Context) error
	sub        []*cli.Command
}

func (c *ctl) command(s spec) *cli.Command {
	description := strings.Join(wrap(s.long, defaultWidth-6), "\n")
	if s.long != "" {
		description += "\n\n"
	}
	var examples strings.Builder
	for line := range strings.Lines(s.example) {
		examples.WriteString("   " + line)
	}
	for _, f := range s.flags {
		if b, ok := f.(*cli.BoolFlag); ok {
			b.DisableDefaultText = true
		}
	}
	return &cli.Command{
		Name: s.name, Usage: s.short, ArgsUsage: s.args,
		UsageText:   strings.Join(strings.Fields("madohubctl "+s.parent+" "+s.name+" "+s.args+" [FLAGS]"), " "),
		Description: description + "Example:\n" + examples.String(),
		Flags:       append(s.flags, c.commonFlags()...),
		Action:      s.action, Subcommands: s.sub,
	}
}

// commonFlags are understood by every command, wherever they stand.
func (c *ctl) commonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "json", Usage: "print data as JSON", DisableDefaultText: true},
		&cli.StringFlag{Name: "socket", Usage: "control socket, a `PATH` (MADOHUB_SOCKET)"},
		&cli.StringFlag{Name: "config", Usage: "configuration `FILE` (MADOHUB_CONFIG)"},
		&cli.StringFlag{Name: "state-dir", Usage: "`DIR` of the daemon's state (MADOHUB_STATE_DIR)"},
	}
}

func settings(cc *cli.Context) (config.Settings, error) {
	s, err := config.LoadSettings(map[string]string{
		config.SettingConfig: cc.String("config"), config.SettingSocket: cc.String("socket"),
		config.SettingStateDir: cc.String("state-dir"),
	})
	if err != nil {
		return s, &usageError{message: err.Error()}
	}
	return s, nil
}

// client connects to the daemon, and says so if that is another version.
func (c *ctl) client(cc *cli.Context) (*api.Client, error) {
	s, err := settings(cc)
	if err != nil {
		return nil, err
	}
	a := api.NewClient(s.Socket)
	a.Version = ctlVersion()
	a.Mismatch = func(daemon string) {
		if !c.warned {
			c.ui.say("madohubctl: warning: the running daemon is version %s and this is %s: restart the daemon", clean(daemon), ctlVersion())
		}
		c.warned = true
	}
	return a, nil
}

// begin is how most commands begin: with exactly so many arguments, and a connection to the daemon.
func (c *ctl) begin(cc *cli.Context, names string, n int) ([]string, *api.Client, error) {
	args, err := arguments(cc, names, n, n)
	if err != nil {
		return nil, nil, err
	}
	a, err := c.client(cc)
	return args, a, err
}

// arguments checks how many arguments there are. most < 0 is any number.
func arguments(cc *cli.Context, names string, least, most int) ([]string, error) {
	args := cc.Args().Slice()
	switch hint := fmt.Sprintf("see %s --help", cc.Command.HelpName); {
	case len(args) < least:
		return nil, &usageError{fmt.Sprintf("%s is missing", strings.Fields(names)[len(args)]), hint}
	case most >= 0 && len(args) > most:
		return nil, &usageError{fmt.Sprintf("unexpected argument %q", args[most]), hint}
	}
	for i, a := range args {
		if i < least && a == "" {
			return nil, &usageError{fmt.Sprintf("%s is empty", strings.Fields(names)[min(i, len(strings.Fields(names))-1)]), ""}
		}
	}
	return args, nil
}

func noCommand(name string, commands []*cli.Command) error {
	return &usageError{"a command is missing", fmt.Sprintf("%s %s, or %s --help", name, strings.Join(commandNames(commands), "|"), name)}
}

func commandNames(commands []*cli.Command) []string {
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.Name
	}
	return names
}

func ctlVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && ttyWidth(f) > 0
}
