// Package system tests MadoHub whole and from outside: the real daemon and the real control command, a real tmux server on
// a private socket, and scripted agents whose own byte logs are the oracle.
package system

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/scripts/rig"
)

// patience is how long a condition may take under the race detector on a busy machine. It is no measure of speed.
const patience = 90 * time.Second

var bin string // folder of the binaries

func TestMain(m *testing.M) {
	flag.Parse()
	// The worlds wait most of the time: more of them than there are cores.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "mh-bin-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		bin = dir
		args := []string{"build", "-o", dir + "/"}
		if raceEnabled {
			args = append(args, "-race")
		}
		args = append(args, "../../cmd/madohub", "../../cmd/madohubctl", "../scripted", "../receiver")
		cmd := exec.Command("go", args...)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "build the binaries:", err)
			return 1
		}
		if err := os.Symlink(filepath.Join(dir, "scripted"), filepath.Join(dir, "claude")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// world is a private tmux server with scripted agents and a daemon that may watch them.
type world struct {
	t      testing.TB
	ctx    context.Context
	dir    string
	tmux   *rig.Tmux
	daemon *rig.Daemon
	panes  map[string]*rig.Pane
}

// fast is the beginning of every configuration here: short waits, and paces that a test can afford.
const fast = `tmux: {socket: %s, poll: 100ms}
dispatch: legacy
idle_delay: 200ms
limits: {target_spacing: 0s}
`

// review is the usual pair: what a says goes to b.
const review = fast + `agents:
  - {name: a, pane: a, typing: {before_submit: 100ms}}
  - {name: b, pane: b, typing: {before_submit: 100ms}}
connections:
  - {name: review, from: a, to: b, template: "{output}", guard: {cooldown: 1s, max_rounds: 20}}
`

// newWorld prepares a world; agents and daemon are started by the test.
func newWorld(t testing.TB) *world {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "mh-")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, panes: map[string]*rig.Pane{}}
	var cancel context.CancelFunc
	w.ctx, cancel = context.WithTimeout(context.Background(), 10*time.Minute)
	if w.tmux, err = rig.NewTmux(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if w.daemon != nil && w.daemon.PID() != 0 {
			if err := w.daemon.Stop(); err != nil {
				t.Errorf("the daemon did not stop cleanly: %v", err)
			}
		}
		cancel()
		_ = w.tmux.Kill() // a test may have killed it
		if t.Failed() {
			raw, _ := os.ReadFile(filepath.Join(dir, "d", "daemon.log"))
			t.Logf("daemon log:\n%s", raw[max(0, len(raw)-6000):])
		}
		os.RemoveAll(dir)
	})
	return w
}

// rules are the bodies of scripts, by agent.
type rules map[string]string

// newPair is a world in which two scripted agents, each with its rules, and the daemon run, and both agents are seen idle.
func newPair(t testing.TB, config string, agents rules) *world {
	t.Helper()
	w := newWorld(t)
	for name, rules := range agents {
		w.agent(name, rules)
	}
	w.start(config)
	for name := range agents {
		w.state(name, record.StateIdle)
	}
	return w
}

// start runs the daemon with a configuration in which %s is the socket.
func (w *world) start(config string) *world {
	w.t.Helper()
	if strings.Contains(config, "%s") {
		config = fmt.Sprintf(config, w.tmux.Socket)
	}
	dir := filepath.Join(w.dir, "d")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	var err error
	if w.daemon, err = rig.NewDaemon(bin, dir, config); err != nil {
		w.t.Fatal(err)
	}
	w.daemon.Env = []string{w.home()}
	if err := w.daemon.Start(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	return w
}

func (w *world) home() string { return "CLAUDE_CONFIG_DIR=" + filepath.Join(w.dir, "home") }

// agent starts a scripted agent in a pane of its own; rules is the body of its script.
func (w *world) agent(name, rules string, flags ...string) *rig.Pane {
	w.t.Helper()
	return w.pane(name, append([]string{filepath.Join(bin, "claude"), "--script", w.script(name, rules), "--log", w.bytes(name)}, flags...)...)
}

func (w *world) script(name, rules string) string {
	w.t.Helper()
	file := filepath.Join(w.dir, name+".yaml")
	if err := os.WriteFile(file, []byte("delay: 100ms\nrules:\n"+rules), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return file
}

func (w *world) pane(name string, argv ...string) *rig.Pane {
	w.t.Helper()
	dir := filepath.Join(w.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	p, err := w.tmux.NewPane(name, dir, []string{w.home(), "PS1=$ "}, argv...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.panes[name] = p
	return p
}

func (w *world) bytes(name string) string { return filepath.Join(w.dir, name+".bytes.jsonl") }

// until polls a condition.
func (w *world) until(what string, cond func() (bool, error)) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	if err := rig.Wait(ctx, what, cond); err != nil {
		if w.daemon == nil {
			w.t.Fatal(err)
		}
		log, _, _ := w.daemon.Ctl("log")
		status, _, _ := w.daemon.Ctl("status")
		for name, p := range w.panes {
			screen, _ := p.Screen()
			w.t.Logf("pane %s shows:\n%s", name, strings.TrimRight(screen, "\n"))
		}
		w.t.Fatalf("%v\n%s\n%s", err, status, log)
	}
}

// state waits until the daemon sees an agent in a state.
func (w *world) state(agent string, want record.State) {
	w.t.Helper()
	w.until(fmt.Sprintf("%s is %s", agent, want), func() (bool, error) {
		got, err := w.daemon.State(agent)
		return got == string(want), err
	})
}

// prompt types as a person does.
func (w *world) prompt(agent, text string) {
	w.t.Helper()
	if err := w.panes[agent].Prompt(w.ctx, text); err != nil {
		w.t.Fatal(err)
	}
}

// find waits for a record of the log.
func (w *world) find(what string, fits func(record.Record) bool) record.Record {
	w.t.Helper()
	var found record.Record
	w.until("the log has "+what, func() (bool, error) {
		recs, err := w.daemon.Log()
		for _, r := range recs {
			if fits(r) {
				found = r
				return true, nil
			}
		}
		return false, err
	})
	return found
}

// outcome waits for a record of a connection with this outcome and reason.
func (w *world) outcome(connection string, o record.Outcome, r record.Reason) record.Record {
	w.t.Helper()
	return w.find(fmt.Sprintf("%s: %s %s", connection, o, r), func(rec record.Record) bool {
		return rec.Connection == connection && rec.Outcome == o && rec.Reason == r
	})
}

// took are the prompts that an agent has submitted or queued, by its own byte log.
func (w *world) took(agent string) []string {
	w.t.Helper()
	log, err := rig.ByteLog(w.bytes(agent))
	if err != nil {
		w.t.Fatal(err)
	}
	return append(rig.Texts(log, "submit"), rig.Texts(log, "queue")...)
}

// enters counts the carriage returns that reached an agent.
func (w *world) enters(agent string) int {
	w.t.Helper()
	log, err := rig.ByteLog(w.bytes(agent))
	if err != nil {
		w.t.Fatal(err)
	}
	return rig.Enters(log)
}

// raw is everything that reached an agent's terminal.
func (w *world) raw(agent string) string {
	w.t.Helper()
	log, err := rig.ByteLog(w.bytes(agent))
	if err != nil {
		w.t.Fatal(err)
	}
	var b strings.Builder
	for _, n := range log {
		b.WriteString(n.Raw)
	}
	return b.String()
}

// ctl runs madohubctl and wants an exit code.
func (w *world) ctl(code int, args ...string) string {
	w.t.Helper()
	out, got, err := w.daemon.Ctl(args...)
	if got != code {
		w.t.Fatalf("madohubctl %s: exit %d, want %d: %v\n%s", strings.Join(args, " "), got, code, err, out)
	}
	if err != nil {
		return out + err.Error()
	}
	return out
}

// must fails the test on an error.
func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
