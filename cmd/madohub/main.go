// Command madohub is the MadoHub daemon. It runs in the foreground, watches the tmux panes that its configuration names,
// and types the finished answers of one agent as prompts into another one's pane. It logs to standard error.
//
// Signals: SIGHUP loads the configuration again; SIGTERM and SIGINT stop it cleanly (what is being typed is finished
// or recorded first). Exit codes: 0 clean stop, 1 failure, 2 usage or configuration, 5 another daemon holds the state
// directory or the tmux server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/urfave/cli/v2"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/madohub/madohub/config"
	"github.com/madohub/madohub/daemon"
)

// version is stamped by the linker.
var version = ""

// The exit codes of the contract.
const (
	exitFailure = 1
	exitUsage   = 2
	exitBusy    = 5
)

func main() {
	app := &cli.App{
		Name:      "madohub",
		Usage:     "watch AI agents in tmux panes and carry answers from one to the other",
		UsageText: "madohub [FLAGS]\n\nExample:\n   madohub --config ~/.config/madohub/config.yaml",
		Description: "Runs in the foreground, logs to standard error, and loads its configuration\n" +
			"again when that is saved, or on SIGHUP. Ctrl-C or SIGTERM stops it cleanly.\n" +
			"Without flags: ~/.config/madohub/config.yaml, ~/.local/state/madohub, and the\n" +
			"socket in the runtime directory or, if there is none, in the state directory.\n\n" +
			"Exit codes: 0 stopped, 1 failure, 2 usage or configuration, 5 another daemon\n" +
			"holds the state directory or the tmux server.",
		Version:         buildVersion(),
		HideHelpCommand: true,
		Flags:           flags(),
		Action:          run,
		OnUsageError: func(_ *cli.Context, err error, _ bool) error {
			return usageError{err}
		},
	}
	if err := app.Run(os.Args); err != nil {
		fmt.Fprintf(os.Stderr, "madohub: error: %v\n", err)
		os.Exit(exitCode(err))
	}
}

func flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "config", Usage: "configuration `FILE` (MADOHUB_CONFIG)"},
		&cli.StringFlag{Name: "state-dir", Usage: "`DIR` of log, queue and counters (MADOHUB_STATE_DIR)"},
		&cli.StringFlag{Name: "socket", Usage: "`PATH` of the control socket (MADOHUB_SOCKET)"},
		&cli.StringFlag{Name: "log-level", Usage: "debug, info, warn or error (MADOHUB_LOG_LEVEL)"},
		&cli.StringFlag{Name: "log-format", Usage: "text or json (MADOHUB_LOG_FORMAT)"},
	}
}

type usageError struct{ error }

func exitCode(err error) int {
	var busy *daemon.BusyError
	var problems config.Problems
	var usage usageError
	switch {
	case errors.As(err, &busy):
		return exitBusy
	case errors.As(err, &problems), errors.As(err, &usage), errors.Is(err, config.ErrNotFound), errors.Is(err, config.ErrUnreadable):
		return exitUsage
	}
	return exitFailure
}

func run(c *cli.Context) error {
	if c.Args().Present() {
		return usageError{fmt.Errorf("unexpected argument %q (the daemon takes flags only; commands are madohubctl's)", c.Args().First())}
	}
	settings, err := config.LoadSettings(map[string]string{
		"config": c.String("config"), "state_dir": c.String("state-dir"), "socket": c.String("socket"),
		"log_level": c.String("log-level"), "log_format": c.String("log-format"),
	})
	if err != nil {
		return usageError{err}
	}
	log, err := logger(settings.LogLevel, settings.LogFormat)
	if err != nil {
		return usageError{err}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)

	d, err := daemon.New(ctx, daemon.Options{
		Config: settings.Config, StateDir: settings.StateDir, Socket: settings.Socket,
		Version: buildVersion(), Reload: hup, Log: log,
	})
	if err != nil {
		return err
	}
	return d.Run(ctx)
}

// logger writes for operators on standard error: no colour, and no time under systemd, whose journal has its own.
func logger(level, format string) (*zap.Logger, error) {
	var lvl zapcore.Level
	if err := lvl.Set(level); err != nil {
		return nil, fmt.Errorf("log level: %w", err)
	}
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	if os.Getenv("JOURNAL_STREAM") != "" {
		enc.TimeKey = ""
	}
	cfg := zap.Config{
		Level: zap.NewAtomicLevelAt(lvl), Encoding: "console", EncoderConfig: enc,
		OutputPaths: []string{"stderr"}, ErrorOutputPaths: []string{"stderr"},
		DisableCaller: true, DisableStacktrace: true,
	}
	switch format {
	case "", "text":
	case "json":
		cfg.Encoding = "json"
	default:
		return nil, fmt.Errorf("log format %q: want text or json", format)
	}
	return cfg.Build()
}

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
