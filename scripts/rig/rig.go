// Package rig builds the small world of a demo or a test from outside: a private tmux server, agents in its panes, and
// the real daemon on a private state directory and socket. It knows MadoHub only by its binaries and their JSON, and the
// agents only by their own records, so it can be the judge of what truly happened.
package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// step is how often Wait looks at least.
const step = 20 * time.Millisecond

// Wait polls cond until it is true, and fails with what, and with cond's last error, when ctx ends first. A cond that takes
// long is asked less often, so that several judges do not slow down what they judge.
func Wait(ctx context.Context, what string, cond func() (bool, error)) error {
	var last error
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		began := time.Now()
		ok, err := cond()
		if ok {
			return nil
		}
		last = err
		timer.Reset(max(step, 3*time.Since(began)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait until %s: %w", what, context.Cause(ctx)), last)
		}
	}
}

// cleanEnv is our environment without what would lead to the user's tmux, agents or daemon, and with more.
func cleanEnv(more ...string) []string {
	var out []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case name == "TMUX", name == "TMUX_PANE", strings.HasPrefix(name, "MADOHUB_"), strings.HasPrefix(name, "CLAUDE"),
			strings.HasPrefix(name, "ANTHROPIC_"), strings.HasPrefix(name, "XDG_"):
		default:
			out = append(out, kv)
		}
	}
	return append(out, more...)
}
