package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/scripts/rig"
)

// show is everything that must be gone afterwards.
type show struct {
	bin, dir string
	tmux     *rig.Tmux
	panes    map[string]*rig.Pane
	daemon   *rig.Daemon
	pids     map[string]int
}

var roles = []string{"author", "reviewer"}

// stage starts tmux, the agents and the daemon, and waits until the daemon sees both agents idle.
func (s *show) stage(ctx context.Context) (err error) {
	if s.tmux, err = rig.NewTmux(s.dir); err != nil {
		return err
	}
	server, err := s.tmux.PID()
	if err != nil {
		return err
	}
	s.pids["the tmux server"] = server
	s.panes = map[string]*rig.Pane{}
	scripts := map[string]string{"author": authorScript, "reviewer": reviewerScript}
	claude := filepath.Join(s.dir, "claude") // agents are known by the exact name of their process
	if err := os.Symlink(filepath.Join(s.bin, "scripted"), claude); err != nil {
		return fmt.Errorf("link the scripted agent: %w", err)
	}
	for _, role := range roles {
		if err := s.enter(role, claude, scripts[role]); err != nil {
			return err
		}
	}
	dir := filepath.Join(s.dir, "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if s.daemon, err = rig.NewDaemon(s.bin, dir, fmt.Sprintf(configuration, s.tmux.Socket)); err != nil {
		return err
	}
	s.daemon.Env = []string{s.claudeHome()}
	if err := s.daemon.Start(ctx); err != nil {
		return err
	}
	s.pids["daemon"] = s.daemon.PID()
	for _, role := range roles {
		if err := s.daemon.WaitState(ctx, role, record.StateIdle); err != nil {
			return err
		}
		fmt.Printf("   %-9s in pane %s\n", role, s.panes[role].ID)
	}
	return nil
}

func (s *show) claudeHome() string { return "CLAUDE_CONFIG_DIR=" + filepath.Join(s.dir, "claude-home") }

// enter starts one agent in a pane.
func (s *show) enter(role, claude, script string) error {
	dir := filepath.Join(s.dir, role)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	rules := filepath.Join(s.dir, role+".yaml")
	if err := os.WriteFile(rules, []byte(script), 0o600); err != nil {
		return err
	}
	pane, err := s.tmux.NewPane(role, dir, []string{s.claudeHome()}, claude, "--script", rules, "--log", s.byteLog(role))
	if err != nil {
		return err
	}
	s.panes[role] = pane
	s.pids[role], err = pane.PID()
	return err
}

func (s *show) byteLog(role string) string { return filepath.Join(s.dir, role+".bytes.jsonl") }

// follow shows the routing log as it grows; the function that it returns ends that.
func (s *show) follow(ctx context.Context) (func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := s.daemon.Command(ctx, "log", "-f")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("follow the log: %w", err)
	}
	s.pids["madohubctl log -f"] = cmd.Process.Pid
	return sync.OnceFunc(func() {
		cancel()
		_ = cmd.Wait() // it was interrupted, and says so
	}), nil
}

// judge compares what the daemon says it delivered with what the agents themselves saw arrive.
func (s *show) judge() error {
	recs, err := s.daemon.Log()
	if err != nil {
		return err
	}
	heading("What the agents' own byte logs say")
	want := map[string]int{"author": wantRevisions, "reviewer": wantReviews}
	var errs []error
	for _, role := range roles {
		var said []string
		for _, r := range recs {
			if r.To == role && r.Outcome == record.Delivered {
				said = append(said, strings.TrimSpace(r.Text))
			}
		}
		log, err := rig.ByteLog(s.byteLog(role))
		if err != nil {
			return err
		}
		errs = append(errs, verdict(role, log, said, want[role]))
	}
	return errors.Join(errs...)
}

// verdict fails unless the agent submitted exactly what was said, and no other key did anything.
func verdict(role string, log []rig.Noted, said []string, want int) error {
	var took []string
	for _, text := range rig.Texts(log, "submit") {
		took = append(took, strings.TrimSpace(text))
	}
	if role == "author" && len(took) > 0 {
		took = took[1:] // the person's
	}
	fmt.Printf("   %-9s took %d prompts from MadoHub, with %d carriage returns in all\n", role, len(took), rig.Enters(log))
	slices.Sort(said)
	slices.Sort(took)
	switch {
	case len(took) != want:
		return fmt.Errorf("%s took %d prompts, not %d", role, len(took), want)
	case !slices.Equal(said, took):
		return fmt.Errorf("%s took other texts than the log says were delivered:\n%q\n%q", role, took, said)
	case rig.Enters(log) != len(rig.Texts(log, "submit")):
		return fmt.Errorf("%s saw %d carriage returns for %d prompts", role, rig.Enters(log), len(rig.Texts(log, "submit")))
	}
	return nil
}

// strike ends everything that was started and fails if anything stays.
func (s *show) strike() error {
	var errs []error
	if s.daemon != nil {
		errs = append(errs, s.daemon.Stop())
	}
	if s.tmux != nil {
		errs = append(errs, s.tmux.Kill())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for name, pid := range s.pids {
		errs = append(errs, rig.Wait(ctx, name+" has ended", func() (bool, error) {
			return pid == 0 || syscall.Kill(pid, 0) != nil, nil
		}))
	}
	return errors.Join(errs...)
}
