//go:build agents

package realagents

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/scripts/fakemodel"
	"github.com/madohub/madohub/scripts/rig"
)

const (
	current = "2.1.332"
	older   = "2.1.197"
	apiKey  = "sk-ant-fake-000"
	// idleDelay is the silence after a turn: the default of 8 s would only make the tests longer.
	idleDelay = time.Second
	patient   = 90 * time.Second // for one condition: no measure of speed, the machine may be busy
)

// world is one test's tmux server, model, home of the agents, and daemon.
type world struct {
	t      *testing.T
	dir    string
	home   rig.Home
	tmux   *rig.Tmux
	model  *fakemodel.Server
	url    string
	daemon *rig.Daemon
	poll   time.Duration     // 0: 200 ms
	named  map[string]string // panes of agents that are not called as their session
}

// claude is a real Claude Code in a pane.
type claude struct {
	w         *world
	name, cwd string
	pane      *rig.Pane
}

// newWorld makes a world with a folder for each name; all are trusted but those that begin with "untrusted".
func newWorld(t *testing.T, answer func([]string) (string, bool), names ...string) *world {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "mado-real-") // short: sockets are in it
	must(t, err)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, home: rig.Home(filepath.Join(dir, "home", ".claude"))}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("kept %s", dir)
			return
		}
		os.RemoveAll(dir)
	})
	must(t, os.MkdirAll(string(w.home), 0o700))
	projects := map[string]any{}
	for _, n := range names {
		must(t, os.MkdirAll(w.cwd(n), 0o700))
		projects[w.cwd(n)] = map[string]any{"hasTrustDialogAccepted": !strings.HasPrefix(n, "untrusted")}
	}
	w.seed(projects)
	w.tmux, err = rig.NewTmux(dir)
	must(t, err)
	t.Cleanup(func() { _ = w.tmux.Kill() }) // a case may have killed it
	w.model = fakemodel.New(fakemodel.Options{Answer: answer})
	srv := httptest.NewServer(w.model)
	t.Cleanup(srv.CloseClientConnections)
	w.url = srv.URL
	return w
}

// seed writes what Claude Code asks for on its first start (2.1.332, 2026-11-30).
func (w *world) seed(projects map[string]any) {
	raw, err := json.Marshal(map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark", "hasSeenAutoDefaultNotice": true, "hasSeenAutoDefaultNudge": true,
		"customApiKeyResponses": map[string]any{"approved": []string{apiKey}, "rejected": []string{}},
		"projects":              projects,
	})
	must(w.t, err)
	must(w.t, os.WriteFile(filepath.Join(w.dir, "home", ".claude.json"), raw, 0o600))
	must(w.t, os.WriteFile(filepath.Join(string(w.home), "settings.json"), []byte(`{"permissions":{"defaultMode":"default"}}`), 0o600))
}

func (w *world) cwd(name string) string { return filepath.Join(w.dir, "w", name) }

// binary is a version of Claude Code; the test fails where it is not installed.
func binary(t *testing.T, version string) string {
	t.Helper()
	dir := os.Getenv("MADOHUB_AGENTS_DIR")
	if dir == "" {
		dir = filepath.Join("..", "..", ".cache", "agents")
	}
	bin, err := filepath.Abs(filepath.Join(dir, "claude-"+version, "bin", "claude"))
	must(t, err)
	if _, err := os.Stat(bin); err != nil {
		t.Fatalf("Claude Code %s is not installed (scripts/install-agents.sh): %v", version, err)
	}
	return bin
}

func (w *world) env(more ...string) []string {
	return append([]string{
		"HOME=" + filepath.Join(w.dir, "home"), "IS_SANDBOX=1", "DISABLE_AUTOUPDATER=1", "ANTHROPIC_BASE_URL=" + w.url,
		"ANTHROPIC_API_KEY=" + apiKey, "SHELL=/bin/bash",
	}, more...)
}

// claude starts a Claude Code as the command of a pane and waits until it is idle.
func (w *world) claude(name, version string, env []string, args ...string) *claude {
	w.t.Helper()
	c := w.launch(name, env, append([]string{binary(w.t, version)}, args...)...)
	c.idle()
	return c
}

// launch runs any command in a pane of that name.
func (w *world) launch(name string, env []string, argv ...string) *claude {
	w.t.Helper()
	return w.launchAt(name, w.cwd(name), env, argv...)
}

// launchAt is launch in any directory.
func (w *world) launchAt(name, cwd string, env []string, argv ...string) *claude {
	w.t.Helper()
	pane, err := w.tmux.NewPane(name, cwd, w.env(env...), argv...)
	must(w.t, err)
	return &claude{w, name, cwd, pane}
}

// start runs the daemon with agents for the named panes and more configuration.
func (w *world) start(more string, names ...string) *rig.Daemon {
	w.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "tmux: {socket: %s, poll: %s}\ndispatch: legacy\nidle_delay: %s\nlimits: {target_spacing: 1s}\nagents:\n",
		w.tmux.Socket, cmp.Or(w.poll, 200*time.Millisecond), idleDelay)
	for _, n := range names {
		fmt.Fprintf(&b, "  - {name: %s, pane: %q}\n", n, cmp.Or(w.named[n], n))
	}
	b.WriteString(more)
	dir := filepath.Join(w.dir, "d")
	must(w.t, os.MkdirAll(dir, 0o700))
	var err error
	w.daemon, err = rig.NewDaemon(bin, dir, b.String())
	must(w.t, err)
	must(w.t, w.daemon.Start(w.ctx()))
	d := w.daemon
	w.t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			w.t.Error(err)
		}
	})
	return d
}

// sees waits until the daemon has an agent in a state.
func (w *world) sees(name string, state record.State) {
	w.t.Helper()
	must(w.t, w.daemon.WaitState(w.ctx(), name, state))
}

// wait waits for any condition.
func (w *world) wait(what string, cond func() (bool, error)) {
	w.t.Helper()
	must(w.t, rig.Wait(w.ctx(), what, cond))
}

// ctx bounds one condition.
func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeoutCause(context.Background(), patient, fmt.Errorf("not within %s", patient))
	w.t.Cleanup(cancel)
	return ctx
}

// find waits for a record.
func (w *world) find(what string, fits func(record.Record) bool) record.Record {
	w.t.Helper()
	r, err := w.daemon.Find(w.ctx(), what, fits)
	if err != nil {
		recs, _ := w.daemon.Log()
		for _, r := range recs {
			w.t.Logf("record %s %s->%s %s/%s %q", r.ID, r.From, r.To, r.Outcome, r.Reason, r.Detail)
		}
	}
	must(w.t, err)
	return r
}

// prompt submits a prompt as a person does, and waits until the agent recorded it; the answer comes later.
func (c *claude) prompt(text string) {
	c.w.t.Helper()
	n := len(c.prompts())
	if err := c.pane.Prompt(c.w.ctx(), text); err != nil {
		s, _ := c.pane.Screen()
		c.w.t.Fatalf("%v\n%s", err, s)
	}
	if _, err := c.w.home.WaitPrompts(c.w.ctx(), c.cwd, n+1); err != nil {
		s, _ := c.pane.Screen()
		c.w.t.Fatalf("%v\n%s", err, s)
	}
}

// ask submits a prompt and waits until its turn is over.
func (c *claude) ask(text string) {
	c.w.t.Helper()
	c.prompt(text)
	c.idle()
}

func (c *claude) idle() {
	c.w.t.Helper()
	if err := c.w.home.WaitIdle(c.w.ctx(), c.cwd); err != nil {
		s, _ := c.pane.Screen()
		c.w.t.Fatalf("%v\n%s", err, s)
	}
}

// waiting waits until a dialog is open and drawn.
func (c *claude) waiting(shown string) {
	c.w.t.Helper()
	last := ""
	err := rig.Wait(c.w.ctx(), c.name+" shows "+shown, func() (ok bool, err error) {
		last, err = c.pane.Screen()
		return strings.Contains(last, shown), err
	})
	if err != nil {
		c.w.t.Fatalf("%v\n%s", err, last)
	}
}

// answer presses a key in an open dialog until the dialog, known by what it shows, is closed. A key that comes in the moment
// when the dialog appears may be ignored (2.1.332, 2026-11-30).
func (c *claude) answer(shown, key string) {
	c.w.t.Helper()
	c.waiting(shown)
	var pressed time.Time
	c.w.wait("the dialog "+shown+" is closed", func() (bool, error) {
		screen, err := c.pane.Screen()
		if err != nil || !strings.Contains(screen, shown) {
			return err == nil, err
		}
		if time.Since(pressed) > 2*time.Second {
			pressed = time.Now()
			err = c.pane.Keys(key)
		}
		return false, err
	})
}

// trust accepts the trust dialog, in which "No" is highlighted.
func (c *claude) trust() {
	c.w.t.Helper()
	c.waiting("❯ No, exit")
	c.answer("❯ No, exit", "Down")
	c.answer("❯ Yes, I trust", "Enter")
}

func (c *claude) prompts() []string {
	c.w.t.Helper()
	p, err := c.w.home.Prompts(c.cwd)
	must(c.w.t, err)
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
