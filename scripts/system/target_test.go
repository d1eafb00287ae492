package system

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/scripts/rig"
)

// A target that can't take text now holds it with the reason, sees no key, and gets it when it is clear.
func TestHeldUntilClear(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		rules  string
		before func(*world)
		reason record.Reason
		clear  func(*world)
	}{
		{
			name: "busy", rules: "  - {match: work, delay: 12s, answer: Done.}\n", reason: record.TargetBusy,
			before: func(w *world) { w.prompt("b", "work"); w.state("b", record.StateBusy) },
			clear:  func(*world) {},
		},
		{
			name: "permission", rules: "  - {match: ask, dialog: permission, answer: Asked.}\n", reason: record.TargetDialog,
			before: func(w *world) { w.prompt("b", "ask"); w.state("b", record.StateDialog); shows(w, "b", "Esc to cancel") },
			clear:  func(w *world) { w.must(w.panes["b"].Keys("Escape")) },
		},
		{
			name: "question", rules: "  - {match: ask, dialog: question, answer: Asked.}\n", reason: record.TargetDialog,
			before: func(w *world) { w.prompt("b", "ask"); w.state("b", record.StateDialog); shows(w, "b", "Esc to cancel") },
			clear:  func(w *world) { w.must(w.panes["b"].Keys("Enter")) },
		},
		{
			name: "copy-mode", reason: record.CopyMode,
			before: func(w *world) { tmux(w, "copy-mode", "-t", w.panes["b"].ID) },
			clear:  func(w *world) { tmux(w, "copy-mode", "-q", "-t", w.panes["b"].ID) },
		},
		{
			name: "input-off", reason: record.InputOff,
			before: func(w *world) { tmux(w, "select-pane", "-d", "-t", w.panes["b"].ID) },
			clear:  func(w *world) { tmux(w, "select-pane", "-e", "-t", w.panes["b"].ID) },
		},
		{
			name: "synchronized", reason: record.Synchronized,
			before: func(w *world) { tmux(w, "set-option", "-w", "-t", w.panes["b"].ID, "synchronize-panes", "on") },
			clear:  func(w *world) { tmux(w, "set-option", "-w", "-t", w.panes["b"].ID, "synchronize-panes", "off") },
		},
		{
			name: "draft", reason: record.TargetDraft,
			before: func(w *world) {
				w.must(w.panes["b"].Type("half a tho"))
				shows(w, "b", "half a tho")
			},
			clear: func(w *world) { w.must(w.panes["b"].Keys("C-u")) },
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newPair(t, review, rules{"a": "  - {match: '', answer: The answer.}\n", "b": c.rules})
			c.before(w)
			w.prompt("a", "go")
			held := w.outcome("review", record.Held, c.reason)
			if raw := w.raw("b"); strings.Contains(raw, "The answer.") {
				t.Fatalf("text reached b while it was held: %q", raw)
			}
			log, err := rig.ByteLog(w.bytes("b"))
			w.must(err)
			if n := len(rig.Texts(log, "approve")); n != 0 {
				t.Fatal("the dialog was approved by us")
			}
			c.clear(w)
			rec := w.outcome("review", record.Delivered, "")
			if rec.ID != held.ID {
				t.Errorf("delivered %s, held %s", rec.ID, held.ID)
			}
			got := w.took("b")
			if got[len(got)-1] != "The answer." || count(got, "The answer.") != 1 {
				t.Errorf("b took %q", got)
			}
		})
	}
}

// shows waits until a pane shows a text.
func shows(w *world, agent, text string) {
	w.t.Helper()
	w.until(fmt.Sprintf("%s shows %q", agent, text), func() (bool, error) {
		s, err := w.panes[agent].Screen()
		return strings.Contains(s, text), err
	})
}

func tmux(w *world, args ...string) {
	w.t.Helper()
	_, err := w.tmux.Run(args...)
	w.must(err)
}

func count(all []string, part string) int {
	n := 0
	for _, s := range all {
		if strings.Contains(s, part) {
			n++
		}
	}
	return n
}

// A target whose agent or pane has ended is blocked, and nothing runs in what is left behind.
func TestGoneTargets(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		end  func(*world)
	}{
		{"pane-killed", func(w *world) { tmux(w, "kill-pane", "-t", w.panes["b"].ID) }},
		{"exited-to-shell", func(w *world) { w.prompt("b", "/exit") }},
		{"dead-pane", func(w *world) {
			tmux(w, "set-option", "-w", "-t", w.panes["b"].ID, "remain-on-exit", "on")
			pid, err := w.panes["b"].PID()
			w.must(err)
			w.must(kill(pid))
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.agent("a", "  - {match: '', answer: \"touch evil\"}\n")
			if c.name == "exited-to-shell" {
				w.pane("b", "/bin/sh", "-c", filepath.Join(bin, "claude")+" --log "+w.bytes("b")+"; exec /bin/sh -i")
			} else {
				w.agent("b", "")
			}
			w.start(review)
			w.state("a", record.StateIdle)
			w.state("b", record.StateIdle)
			c.end(w)
			w.state("b", record.StateGone)
			w.prompt("a", "go")
			w.outcome("review", record.Blocked, record.TargetGone)
			if strings.Contains(w.raw("b"), "touch evil") {
				t.Error("text reached the pane")
			}
			if _, err := os.Stat(filepath.Join(w.dir, "b", "evil")); err == nil {
				t.Error("the text ran as a command")
			}
			if _, err := w.tmux.Run("list-sessions"); err != nil {
				t.Errorf("the tmux server is gone: %v", err)
			}
		})
	}
}

// A suspended agent says idle while its shell would run what is typed: held, and delivered after fg.
func TestSuspendedTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agent("a", "  - {match: '', answer: \"touch evil\"}\n")
	w.pane("b", "/bin/bash", "--norc", "-i")
	w.must(w.panes["b"].Type(filepath.Join(bin, "claude") + " --log " + w.bytes("b")))
	w.must(w.panes["b"].Keys("Enter"))
	w.start(review)
	w.state("a", record.StateIdle)
	w.state("b", record.StateIdle)
	w.must(w.panes["b"].Keys("C-z"))
	w.state("b", record.StateSuspended)
	w.prompt("a", "go")
	w.outcome("review", record.Held, record.Suspended)
	w.must(w.panes["b"].Type("fg"))
	w.must(w.panes["b"].Keys("Enter"))
	w.outcome("review", record.Delivered, "")
	if got := w.took("b"); len(got) != 1 || got[0] != "touch evil" {
		t.Errorf("b took %q", got)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "b", "evil")); err == nil {
		t.Error("the text ran as a command")
	}
}

// An agent that is suspended, or ends, while many lines are typed leaves a shell that would run the rest of them. Without
// job control the shell and the agent are one process group, so that tmux shows the same command for both.
func TestShellBehindTheAgentRunsNothing(t *testing.T) {
	cases := []struct {
		name, shell string
		end         func(*world)
		outcome     record.Outcome
		reason      record.Reason
	}{
		{"suspended", "exec /bin/bash --norc -i", func(w *world) { w.must(w.panes["b"].Keys("C-z")) }, record.Held, record.Suspended},
		{"ended", "exec /bin/bash --norc -i", func(w *world) { w.must(w.panes["b"].Keys("C-c", "C-c")) }, record.Typed, record.NotSubmitted},
		{"ended-to-its-parent", "", func(w *world) { w.must(w.panes["b"].Keys("C-c", "C-c")) }, record.Typed, record.NotSubmitted},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.agent("a", "")
			agent := filepath.Join(bin, "claude") + " --log " + w.bytes("b")
			if c.shell == "" {
				w.pane("b", "/bin/sh", "-c", agent+"; exec /bin/sh")
			} else {
				w.pane("b", "/bin/sh", "-c", c.shell)
				w.must(w.panes["b"].Type(agent))
				w.must(w.panes["b"].Keys("Enter"))
			}
			w.start(review)
			w.state("b", record.StateIdle)
			var text strings.Builder
			for i := range 100 {
				fmt.Fprintf(&text, "touch evil%d\n", i)
			}
			send := w.daemon.Command(w.ctx, "send", "b", "-")
			send.Stdin = strings.NewReader(text.String())
			w.must(send.Start())
			shows(w, "b", "touch evil9")
			c.end(w)
			w.find(c.name, func(r record.Record) bool { return r.To == "b" && r.Outcome == c.outcome && r.Reason == c.reason })
			_ = send.Wait() // its exit code says held, or typed
			ran, err := filepath.Glob(filepath.Join(w.dir, "b", "evil*"))
			w.must(err)
			// A line that was on its way in that very moment may reach the shell: nobody can prevent that.
			if len(ran) > 1 {
				t.Errorf("the shell ran %d lines: %q", len(ran), ran)
			}
			if c.outcome == record.Held {
				w.must(w.panes["b"].Keys("C-u", "C-u"))
				w.must(w.panes["b"].Type("fg"))
				w.must(w.panes["b"].Keys("Enter"))
				w.find("the end", func(r record.Record) bool { return r.To == "b" && r.Outcome.Final() })
			}
		})
	}
}

// After a restart of tmux the same pane id is another pane: nothing is typed into it, and agents are found again by name.
func TestTmuxRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agent("a", "  - {match: '', answer: The answer.}\n")
	b := w.agent("b", "  - {match: work, delay: 60s, answer: Done.}\n")
	w.start(review)
	w.state("a", record.StateIdle)
	w.state("b", record.StateIdle)
	w.prompt("b", "work")
	w.state("b", record.StateBusy)
	w.prompt("a", "go")
	w.outcome("review", record.Held, record.TargetBusy)
	w.must(w.tmux.Kill())
	w.outcome("review", record.Held, record.ServerUnreachable)
	again, err := rig.NewTmux(w.dir)
	w.must(err)
	w.tmux = again
	// Strangers take the ids that a and b had.
	w.pane("x", "/bin/sh")
	y := w.pane("y", "/bin/sh")
	if y.ID != b.ID {
		t.Fatalf("pane ids: %s, want %s", y.ID, b.ID)
	}
	w.state("b", record.StateUnknown)
	w.must(os.Remove(w.bytes("b")))
	w.agent("b", "")
	w.state("b", record.StateIdle)
	w.outcome("review", record.Delivered, "")
	if got := w.took("b"); len(got) != 1 || got[0] != "The answer." {
		t.Errorf("b took %q", got)
	}
	if s, err := y.Screen(); err != nil || strings.Contains(s, "The answer.") {
		t.Errorf("a stranger got the text: %q, %v", s, err)
	}
}

// The trust dialog comes before any session file; its highlighted answer would end the agent.
func TestTrustDialogIsNotAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agent("a", "  - {match: '', answer: The answer.}\n")
	w.agent("b", "", "--trust")
	w.start(review)
	w.state("a", record.StateIdle)
	w.prompt("a", "go")
	rec := w.find("a held text", func(r record.Record) bool { return r.Outcome == record.Held && r.Reason != "" })
	if rec.Reason != record.TargetDialog && rec.Reason != record.TargetStarting {
		t.Errorf("held for %s", rec.Reason)
	}
	if raw := w.raw("b"); raw != "" {
		t.Errorf("keys reached the dialog: %q", raw)
	}
}

// A shell is a target only by the user's word, and several lines are refused.
func TestShellTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agent("a", "  - {match: one, answer: 'touch made'}\n  - {match: two, answer: \"touch x\\ntouch y\"}\n")
	w.pane("b", "/bin/bash", "--norc", "-i")
	w.start(strings.Replace(review, "{name: b, pane: b, typing: {before_submit: 100ms}}", "{name: b, pane: b, kind: shell}", 1))
	w.state("a", record.StateIdle)
	w.state("b", record.StateIdle)
	w.prompt("a", "one")
	rec := w.outcome("review", record.Delivered, "")
	if rec.Proof != record.ProofScreen {
		t.Errorf("proof %q", rec.Proof)
	}
	w.until("the command ran", func() (bool, error) {
		_, err := os.Stat(filepath.Join(w.dir, "b", "made"))
		return err == nil, nil
	})
	w.prompt("a", "two")
	w.outcome("review", record.Blocked, record.MultiLine)
	for _, f := range []string{"x", "y"} {
		if _, err := os.Stat(filepath.Join(w.dir, "b", f)); err == nil {
			t.Errorf("line %s ran", f)
		}
	}
}
