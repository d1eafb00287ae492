package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/scripts/rig"
)

// patience is no measure of speed: it is for a busy machine.
const patience = 30 * time.Second

var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "scripted-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "claude")
	cmd := exec.Command("go", "build", "-o", binary, ".")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	code := 1
	if err := cmd.Run(); err == nil {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// stage is one agent in a pane of a private tmux.
type stage struct {
	t    *testing.T
	ctx  context.Context
	dir  string
	home rig.Home
	pane *rig.Pane
}

func newStage(t *testing.T, script string, args ...string) *stage {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "mh-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	tmux, err := rig.NewTmux(dir)
	must(t, err)
	t.Cleanup(func() { _ = tmux.Kill() }) // it may have ended with its last pane
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	s := &stage{t: t, ctx: ctx, dir: dir, home: rig.Home(filepath.Join(dir, "home"))}
	must(t, os.Mkdir(s.cwd(), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(script), 0o600))
	line := strings.Join(append([]string{binary, "--script", filepath.Join(dir, "rules.yaml"), "--log", s.log()}, args...), " ")
	s.pane, err = tmux.NewPane("a", s.cwd(), []string{"CLAUDE_CONFIG_DIR=" + string(s.home)}, "sh", "-i")
	must(t, err)
	must(t, s.pane.Type(line)) // an interactive shell has job control
	must(t, s.pane.Keys("Enter"))
	return s
}

func (s *stage) cwd() string { return filepath.Join(s.dir, "cwd") }
func (s *stage) log() string { return filepath.Join(s.dir, "log") }

func (s *stage) idle() {
	s.t.Helper()
	must(s.t, s.home.WaitIdle(s.ctx, s.cwd()))
}

// event waits until the agent logged an event n times, and returns their texts.
func (s *stage) event(name string, n int) []string {
	s.t.Helper()
	var got []string
	must(s.t, rig.Wait(s.ctx, "the agent logged "+name, func() (bool, error) {
		log, err := rig.ByteLog(s.log())
		got = rig.Texts(log, name)
		return len(got) >= n, err
	}))
	return got
}

func (s *stage) shows(text string) {
	s.t.Helper()
	must(s.t, rig.Wait(s.ctx, "the screen shows "+text, func() (bool, error) {
		screen, err := s.pane.Screen()
		return strings.Contains(screen, text), err
	}))
}

func (s *stage) status(want string) {
	s.t.Helper()
	must(s.t, rig.Wait(s.ctx, "the status is "+want, func() (bool, error) {
		got, err := s.home.Session(s.cwd())
		return got.Status == want, err
	}))
}

// kinds are the lines of the conversation, in short.
func (s *stage) kinds() []string {
	s.t.Helper()
	lines, err := s.home.Transcript(s.cwd())
	must(s.t, err)
	var out []string
	for _, l := range lines {
		switch {
		case l.Type == "system":
			out = append(out, l.Subtype)
		case l.Type == "queue-operation":
			out = append(out, l.Operation)
		case l.Type == "assistant" && l.APIError:
			out = append(out, "error")
		case l.Type == "user" && l.Meta:
			out = append(out, "meta")
		case l.Type == "user" || l.Type == "assistant":
			out = append(out, l.Type)
		}
	}
	return out
}

func TestTurns(t *testing.T) {
	for name, c := range map[string]struct {
		rule string
		want string
	}{
		"answer":     {"{answer: 'saw $0'}", "user assistant turn_duration"},
		"blocks":     {"{blocks: [a, b], thinking: true}", "user assistant assistant assistant turn_duration"},
		"tool":       {"{tool: ls, answer: a}", "user assistant user assistant turn_duration"},
		"api error":  {"{failure: api_error}", "user error"},
		"interrupt":  {"{failure: interrupt}", "user assistant user"},
		"empty":      {"{failure: empty}", "user meta turn_duration"},
		"refusal":    {"{failure: refusal}", "user informational meta model_refusal_no_fallback error"},
		"truncated":  {"{failure: truncated}", "user assistant meta assistant meta assistant meta assistant error"},
		"background": {"{background: 200ms, answer: a}", "user assistant user assistant turn_duration user assistant turn_duration"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "delay: 50ms\nrules: ["+c.rule+"]\n")
			s.idle()
			must(t, s.pane.Prompt(s.ctx, "hello"))
			must(t, rig.Wait(s.ctx, "the transcript is "+c.want, func() (bool, error) {
				return strings.Join(s.kinds(), " ") == c.want, errors.New(strings.Join(s.kinds(), " "))
			}))
			s.idle()
		})
	}
}

func TestEnterIntoADialogApproves(t *testing.T) {
	t.Parallel()
	s := newStage(t, "delay: 50ms\nrules: [{dialog: permission, answer: done}]\n")
	s.idle()
	must(t, s.pane.Prompt(s.ctx, "please"))
	s.status("waiting")
	s.shows("Do you want to proceed?")
	must(t, s.pane.Paste("text is ignored"))
	must(t, s.pane.Keys("Enter"))
	s.event("approve", 1)
	s.idle()
	if got := s.event("submit", 1); len(got) != 1 {
		t.Errorf("submitted %q", got)
	}
}

func TestPromptsWhileBusyAreQueued(t *testing.T) {
	t.Parallel()
	s := newStage(t, "rules: [{match: slow, delay: 1s, answer: a}]\n")
	s.idle()
	must(t, s.pane.Prompt(s.ctx, "slow"))
	s.status("busy")
	_, err := s.home.WaitPrompts(s.ctx, s.cwd(), 1)
	must(t, err)
	must(t, s.pane.Prompt(s.ctx, "next"))
	s.shows("Queued")
	got, err := s.home.WaitPrompts(s.ctx, s.cwd(), 2)
	must(t, err)
	s.idle()
	if diff := cmp.Diff([]string{"slow", "next"}, got); diff != "" {
		t.Error(diff)
	}
	if got := strings.Join(s.kinds(), " "); !strings.Contains(got, "enqueue assistant turn_duration dequeue user") {
		t.Errorf("the transcript is %s", got)
	}
}

func TestSuspendClearAndExit(t *testing.T) {
	t.Parallel()
	s := newStage(t, "delay: 50ms\n")
	s.idle()
	before, err := s.home.Session(s.cwd())
	must(t, err)
	must(t, s.pane.Prompt(s.ctx, "/clear"))
	must(t, rig.Wait(s.ctx, "the session is a new one", func() (bool, error) {
		now, err := s.home.Session(s.cwd())
		return err == nil && now.SessionID != before.SessionID && now.PID == before.PID, err
	}))
	must(t, s.pane.Keys("C-z"))
	s.shows("suspended")
	if now, err := s.home.Session(s.cwd()); err != nil || now.Status != "idle" {
		t.Errorf("suspended, the session says %q, %v", now.Status, err)
	}
	must(t, rig.Wait(s.ctx, "the shell is back", func() (bool, error) {
		name, err := s.pane.Var("#{pane_current_command}")
		return name != "claude", err
	}))
	must(t, s.pane.Type("fg"))
	must(t, s.pane.Keys("Enter"))
	s.event("resume", 1)
	must(t, s.pane.Prompt(s.ctx, "/exit"))
	must(t, rig.Wait(s.ctx, "the session file is gone", func() (bool, error) {
		_, err := s.home.Session(s.cwd())
		return errors.Is(err, fs.ErrNotExist), err
	}))
}

func TestALongBoxOnASmallScreen(t *testing.T) {
	for mode, want := range map[string]string{"spill": "line 40", "scroll": "more ──"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "delay: 50ms\n", "--box", mode)
			s.idle()
			var text strings.Builder
			for i := range 40 {
				text.WriteString("line ")
				text.WriteString(string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10)) + " 日本語 🎈\n")
			}
			must(t, s.pane.Paste(text.String()))
			s.shows("line 40 日本語 🎈")
			s.shows(want)
			must(t, s.pane.Keys("Enter"))
			if got := s.event("submit", 1); got[0] != text.String() {
				t.Errorf("submitted %q", got[0])
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
