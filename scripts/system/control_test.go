package system

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/madohub/madohub/record"
)

// `send` obeys the same gates and says by its exit code what became of the text.
func TestSend(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agent("a", "")
	w.agent("b", "  - {match: work, delay: 60s, answer: Done.}\n  - {match: '(.*)', answer: 'You said $1.'}\n")
	w.start(review)
	w.state("b", record.StateIdle)
	out := w.ctl(0, "send", "b", "hello", "--wait")
	if !strings.Contains(out, "You said hello.") {
		t.Errorf("send --wait printed %q", out)
	}
	if out := w.ctl(1, "send", "nobody", "hello"); !strings.Contains(out, "nobody") {
		t.Errorf("unknown agent: %q", out)
	}
	w.prompt("b", "work")
	w.state("b", record.StateBusy)
	if out := w.ctl(4, "send", "b", "later"); !strings.Contains(out, "held") {
		t.Errorf("send to a busy agent printed %q", out)
	}
	rec := w.find("the held text", func(r record.Record) bool { return r.Text == "later" && r.Reason == record.TargetBusy })
	w.ctl(0, "queue", "cancel", rec.ID)
	w.find("the cancelled text", func(r record.Record) bool { return r.ID == rec.ID && r.Outcome == record.Cancelled })
	if got := w.took("b"); count(got, "later") != 0 {
		t.Errorf("b took %q", got)
	}
}

// A second daemon refuses, whether it would share the state directory or only the tmux server.
func TestSecondDaemonRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agent("a", "")
	w.agent("b", "")
	w.start(review)
	w.state("a", record.StateIdle)
	pid := strconv.Itoa(w.daemon.PID())
	for name, args := range map[string][]string{
		"state": {"--state-dir", filepath.Join(w.daemon.Dir, "state"), "--socket", filepath.Join(w.dir, "2.sock")},
		"tmux":  {"--state-dir", filepath.Join(w.dir, "state2"), "--socket", filepath.Join(w.dir, "3.sock")},
	} {
		cmd := exec.Command(filepath.Join(bin, "madohub"), append(args, "--config", w.daemon.ConfigFile())...)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 5 || !strings.Contains(string(out), pid) {
			t.Errorf("%s: exit %d (%v), says %q; want 5 and pid %s", name, cmd.ProcessState.ExitCode(), err, out, pid)
		}
	}
	// After a crash the server is free for the next one.
	w.must(w.daemon.Crash())
	w.must(w.daemon.Start(w.ctx))
	w.state("a", record.StateIdle)
}

// A broken file changes nothing and is named; a good one is in force at once.
func TestReload(t *testing.T) {
	t.Parallel()
	w := newPair(t, review, rules{"a": "  - {match: '(.*)', answer: 'Answer to $1.'}\n", "b": ""})
	good, err := os.ReadFile(w.daemon.ConfigFile())
	w.must(err)
	w.must(w.daemon.Configure(strings.Replace(string(good), "max_rounds: 20", "max_rounds: 21", 1)))
	if out := w.ctl(2, "config", "check"); !strings.Contains(out, "config.yaml:") || !strings.Contains(out, "max_rounds") {
		t.Errorf("config check says %q", out)
	}
	if out := w.ctl(2, "reload"); !strings.Contains(out, "max_rounds") {
		t.Errorf("reload says %q", out)
	}
	if out := w.ctl(0, "status"); !strings.Contains(out, "config.yaml:") {
		t.Errorf("status does not name the line: %q", out)
	}
	w.prompt("a", "one")
	w.outcome("review", record.Delivered, "")
	w.must(w.daemon.Configure(strings.Replace(string(good), `template: "{output}"`, `template: "New: {output}"`, 1)))
	w.ctl(0, "reload")
	w.prompt("a", "two")
	w.find("the new template", func(r record.Record) bool { return r.Outcome == record.Delivered && r.Text == "New: Answer to two." })

	// Saving is enough.
	w.must(w.daemon.Configure(strings.Replace(string(good), `template: "{output}"`, `template: "Saved: {output}"`, 1)))
	w.until("the saved file is in force", func() (bool, error) {
		raw, err := os.ReadFile(w.daemon.LogFile())
		return strings.Count(string(raw), "configuration in force") >= 2, err
	})
	w.prompt("a", "three")
	w.find("the saved template", func(r record.Record) bool {
		return r.Outcome == record.Delivered && r.Text == "Saved: Answer to three."
	})
}

// What an agent's own process asks is asked as that agent (A10).
func TestAgentsMayNotActAsPersons(t *testing.T) {
	t.Parallel()
	w := newPair(t, strings.Replace(review, "{name: a, pane: a, ", "{name: a, pane: a, can_message: [b], ", 1), rules{
		"a": "",
		"b": "",
	})
	// A shell below a process that is called claude, as an agent's tools are; and one in a plain pane, as a person's.
	shell := filepath.Join(w.dir, "claude")
	raw, err := os.ReadFile("/bin/sh")
	w.must(err)
	w.must(os.WriteFile(shell, raw, 0o700))
	ask := func(argv string, args ...string) string {
		out := filepath.Join(w.dir, "out")
		_ = os.Remove(out)
		line := filepath.Join(bin, "madohubctl") + " --socket " + filepath.Join(w.daemon.Dir, "madohub.sock") + " " + strings.Join(args, " ")
		script := line + " >" + out + ".tmp 2>&1; echo exit $? >>" + out + ".tmp; mv " + out + ".tmp " + out + "; true"
		tmux(w, "new-window", "-d", "-t", "=idle:", argv+" -c '"+script+"'")
		var got []byte
		w.until("the request is answered", func() (bool, error) {
			got, err = os.ReadFile(out)
			return err == nil, err
		})
		return string(got)
	}
	for _, args := range [][]string{{"rearm", "review"}, {"resume", "review"}, {"reload"}, {"fire", "review"}} {
		if got := ask(shell, args...); !strings.Contains(got, "exit 1") || !strings.Contains(got, "not_human") {
			t.Errorf("an agent's %v: %s", args, got)
		}
		if args[0] != "fire" {
			if got := ask("/bin/sh", args...); !strings.Contains(got, "exit 0") {
				t.Errorf("a person's %v: %s", args, got)
			}
		}
	}
	if got := ask(shell, "send", "b", "hello"); strings.Contains(got, "exit 0") {
		t.Errorf("an agent that is not configured sent: %s", got)
	}
	if got := w.took("b"); len(got) != 0 {
		t.Errorf("b took %q", got)
	}
}

// No daemon, bad usage, bad configuration: each has its exit code and says what to do.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agent("a", "")
	w.agent("b", "")
	w.start(review)
	w.ctl(2, "frobnicate")
	w.ctl(2, "send")
	w.ctl(1, "explain", "nothing-like-that")
	w.must(w.daemon.Stop())
	if out := w.ctl(3, "status"); !strings.Contains(out, "not running") {
		t.Errorf("no daemon: %q", out)
	}
	w.must(w.daemon.Configure("agents: [{name: a}]\n"))
	cmd := exec.Command(filepath.Join(bin, "madohub"), "--config", w.daemon.ConfigFile(), "--state-dir", w.dir+"/s", "--socket", w.dir+"/s.sock")
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "config.yaml:1:") {
		t.Errorf("bad configuration: exit %d, %q", cmd.ProcessState.ExitCode(), out)
	}
}

// A person is told once what is held and why: the record is JSON on the program's standard input.
func TestNotify(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agent("a", "  - {match: '', answer: The answer.}\n")
	w.agent("b", "  - {match: work, delay: 60s, answer: Done.}\n")
	file := filepath.Join(w.dir, "told")
	w.start(review + "notify: {command: [/bin/sh, -c, 'cat >>" + file + "; echo >>" + file + "']}\n")
	w.state("a", record.StateIdle)
	w.state("b", record.StateIdle)
	w.prompt("b", "work")
	w.state("b", record.StateBusy)
	w.prompt("a", "go")
	rec := w.outcome("review", record.Held, record.TargetBusy)
	var told []byte
	w.until("the person is told", func() (bool, error) {
		var err error
		told, err = os.ReadFile(file)
		return strings.HasSuffix(string(told), "}\n"), err
	})
	var got record.Record
	if err := json.Unmarshal(told, &got); err != nil || got.ID != rec.ID || got.Reason != record.TargetBusy {
		t.Errorf("told %s (%v)", told, err)
	}
}
