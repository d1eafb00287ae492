package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/madohub/madohub/record"
)

// Daemon is a real madohub in a directory of its own.
type Daemon struct {
	Dir    string   // configuration, state, socket, log of the process
	Env    []string // more for the daemon and its control command
	bin    string   // folder of the binaries
	cmd    *exec.Cmd
	cancel context.CancelFunc
	group  *errgroup.Group // waits for cmd
	ended  chan struct{}   // closed when cmd has ended
}

// stopTime is how long a daemon may take to end.
const stopTime = 10 * time.Second

// NewDaemon prepares a daemon; dir must exist. Nothing of the user's is read or written.
func NewDaemon(bin, dir, config string) (*Daemon, error) {
	d := &Daemon{Dir: dir, bin: bin}
	if err := d.Configure(config); err != nil {
		return nil, err
	}
	return d, nil
}

// Configure writes the configuration.
func (d *Daemon) Configure(config string) error {
	if err := os.WriteFile(d.ConfigFile(), []byte(config), 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

// ConfigFile is the daemon's configuration.
func (d *Daemon) ConfigFile() string { return filepath.Join(d.Dir, "config.yaml") }

func (d *Daemon) env() []string {
	return append(cleanEnv(
		"MADOHUB_CONFIG="+d.ConfigFile(), "MADOHUB_STATE_DIR="+filepath.Join(d.Dir, "state"),
		"MADOHUB_SOCKET="+filepath.Join(d.Dir, "madohub.sock"), "LC_ALL=C.UTF-8", "NO_COLOR=1", "COLUMNS=120",
		"XDG_CONFIG_HOME="+filepath.Join(d.Dir, "xdg"), "XDG_STATE_HOME="+filepath.Join(d.Dir, "xdg"),
		"XDG_RUNTIME_DIR="+filepath.Join(d.Dir, "xdg"),
	), d.Env...)
}

// LogFile is what the daemon wrote on its standard error.
func (d *Daemon) LogFile() string { return filepath.Join(d.Dir, "daemon.log") }

// Start runs the daemon and waits until it answers.
func (d *Daemon) Start(ctx context.Context) error {
	log, err := os.OpenFile(d.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open daemon log: %w", err)
	}
	defer log.Close()
	run, cancel := context.WithCancel(context.Background())
	d.cmd = exec.CommandContext(run, filepath.Join(d.bin, "madohub"))
	d.cmd.Env, d.cmd.Dir = d.env(), d.Dir
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.Cancel = func() error { return d.cmd.Process.Signal(os.Interrupt) }
	d.cmd.WaitDelay = stopTime
	d.cancel = cancel
	if err := d.cmd.Start(); err != nil {
		cancel()
		d.cmd = nil
		return fmt.Errorf("start daemon: %w", err)
	}
	d.group, d.ended = new(errgroup.Group), make(chan struct{})
	d.group.Go(func() error {
		defer close(d.ended)
		return d.cmd.Wait()
	})
	over := false
	err = Wait(ctx, "the daemon answers", func() (bool, error) {
		_, err := d.Status()
		select {
		case <-d.ended:
			over = true
		default:
		}
		return err == nil || over, err
	})
	if err == nil && over {
		err = errors.New("start daemon: it ended at once")
	}
	if err != nil {
		return errors.Join(err, d.Stop(), fmt.Errorf("its log:\n%s", d.tail()))
	}
	return nil
}

// tail is the end of the daemon's log.
func (d *Daemon) tail() string {
	raw, err := os.ReadFile(d.LogFile())
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-4000):])
}

// Stop ends the daemon as a service manager does, and fails unless it ended cleanly.
func (d *Daemon) Stop() error {
	if d.cmd == nil {
		return nil
	}
	d.cancel()
	err := d.group.Wait()
	state := d.cmd.ProcessState
	d.cmd = nil
	if state == nil || state.ExitCode() != 0 {
		return fmt.Errorf("stop daemon: %s: %w", state, err)
	}
	return nil
}

// Crash ends the daemon by SIGKILL, as a power cut does.
func (d *Daemon) Crash() error {
	if err := d.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("crash daemon: %w", err)
	}
	_ = d.group.Wait() // it says "killed", as was asked
	d.cancel()
	d.cmd = nil
	return nil
}

// PID is the daemon's process, 0 if it does not run.
func (d *Daemon) PID() int {
	if d.cmd == nil {
		return 0
	}
	return d.cmd.Process.Pid
}

// ctlTimeout bounds a madohubctl that does not follow or wait.
const ctlTimeout = 15 * time.Second

// Ctl runs madohubctl and returns what it printed and its exit code.
func (d *Daemon) Ctl(args ...string) (string, int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), ctlTimeout)
	defer cancel()
	cmd := d.Command(ctx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", -1, fmt.Errorf("madohubctl %s: %w", args[0], err)
	}
	code := cmd.ProcessState.ExitCode()
	if code != 0 {
		return out.String(), code, fmt.Errorf("madohubctl %s: exit %d: %s", strings.Join(args, " "), code, errs.String())
	}
	return out.String(), 0, nil
}

// Command is a madohubctl to be run by the caller.
func (d *Daemon) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(d.bin, "madohubctl"), args...)
	cmd.Env, cmd.Dir = d.env(), d.Dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTime
	return cmd
}

// Status is the part of `status --json` that judges need.
type Status struct {
	Agents []struct {
		Name, Kind, State, Evidence, Problem string
		PID                                  int    `json:"pid"`
		PaneID                               string `json:"pane_id"`
		SessionID                            string `json:"session_id"`
	}
	Connections []struct {
		Name       string
		Enabled    bool
		DisabledBy record.DisabledBy `json:"disabled_by"`
		Round      int
		MaxRounds  int `json:"max_rounds"`
	}
	Queue []struct {
		ID, To string
		Reason record.Reason
	}
}

// Status asks the daemon.
func (d *Daemon) Status() (Status, error) {
	var s Status
	out, _, err := d.Ctl("status", "--json")
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		return s, fmt.Errorf("read status: %w", err)
	}
	return s, nil
}

// State is the state of one agent, "" if the daemon does not have it.
func (d *Daemon) State(agent string) (string, error) {
	s, err := d.Status()
	for _, a := range s.Agents {
		if a.Name == agent {
			return a.State, err
		}
	}
	return "", err
}

// WaitState waits until the daemon sees an agent in a state.
func (d *Daemon) WaitState(ctx context.Context, agent string, want record.State) error {
	return Wait(ctx, fmt.Sprintf("the daemon sees %s %s", agent, want), func() (bool, error) {
		got, err := d.State(agent)
		if err == nil && got != string(want) {
			err = fmt.Errorf("it says %q", got)
		}
		return got == string(want), err
	})
}

// Log is the routing log, oldest record first.
func (d *Daemon) Log() ([]record.Record, error) {
	out, _, err := d.Ctl("log", "--json", "-n", "1000")
	if err != nil {
		return nil, err
	}
	var recs []record.Record
	dec := json.NewDecoder(strings.NewReader(out))
	for dec.More() {
		var r record.Record
		if err := dec.Decode(&r); err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		recs = append(recs, r)
	}
	return recs, nil
}

// Find waits for a record that fits.
func (d *Daemon) Find(ctx context.Context, what string, fits func(record.Record) bool) (record.Record, error) {
	var found record.Record
	err := Wait(ctx, "the log has "+what, func() (bool, error) {
		recs, err := d.Log()
		for _, r := range recs {
			if fits(r) {
				found = r
				return true, nil
			}
		}
		return false, err
	})
	return found, err
}
