// Command madohubctl controls the MadoHub daemon and its configuration.
//
// It talks to the daemon over its control socket; `config` and `flow` work without one. Data goes to standard output,
// everything else to standard error. Exit codes: 0 done (for a delivery: delivered, or queued by the target) · 1 any other
// final outcome, or an error · 2 usage or configuration · 3 no daemon · 4 held, or waiting for a human.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// version is stamped by the linker.
var version = ""

func main() { os.Exit(realMain()) }

// realMain is main for the test binary, which stands in for madohubctl in scripts.
func realMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := &ctl{in: os.Stdin, ui: newUI(os.Stdout, os.Stderr)}
	return c.run(ctx, os.Args)
}
