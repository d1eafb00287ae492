//go:build agents

package realagents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/scripts/rig"
)

// stays is how long a held text is watched: nothing of it may appear in this time.
const stays = 1500 * time.Millisecond

// send sends a text by hand, without waiting.
func (w *world) send(to, text string) record.Record {
	w.t.Helper()
	out, _, err := w.daemon.Ctl("send", "--json", to, text)
	var r record.Record
	if jsonErr := json.Unmarshal([]byte(out), &r); jsonErr != nil {
		w.t.Fatalf("send printed %q: %v, %v", out, jsonErr, err)
	}
	return r
}

// outcome waits until a record has an outcome.
func (w *world) outcome(id string, outcome record.Outcome, reasons ...record.Reason) record.Record {
	w.t.Helper()
	var last record.Record
	err := rig.Wait(w.ctx(), fmt.Sprintf("%s is %s %v", id, outcome, reasons), func() (bool, error) {
		recs, err := w.daemon.Log()
		for _, r := range recs {
			if r.ID == id {
				last = r
			}
		}
		if last.Outcome != outcome {
			return false, fmt.Errorf("it is %s/%s %s, %w", last.Outcome, last.Reason, last.Detail, err)
		}
		for _, reason := range reasons {
			if last.Reason == reason {
				return true, nil
			}
		}
		return len(reasons) == 0, fmt.Errorf("it is %s/%s", last.Outcome, last.Reason)
	})
	must(w.t, err)
	return last
}

// quiet watches a pane for a while: the text must not appear in it, and the agent must take no prompt. That something does
// not happen can only be seen by waiting; a text that is not held comes within a second.
func (c *claude) quiet(text string) error {
	before := len(c.prompts())
	for end := time.Now().Add(stays); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		screen, err := c.pane.Screen()
		if err == nil && strings.Contains(screen, text) {
			return fmt.Errorf("the text is on the screen:\n%s", screen)
		}
		if now := len(c.prompts()); now != before {
			return fmt.Errorf("the agent took %d prompts", now-before)
		}
	}
	return nil
}

// heldThenDelivered: in this state a text is held with a reason and no key is sent; when it is clear the text arrives.
func (w *world) heldThenDelivered(b *claude, name string, set, clear func(), reasons ...record.Reason) {
	w.t.Helper()
	began := time.Now()
	text := "text for " + name
	set()
	r := w.send(b.name, text)
	held := w.outcome(r.ID, record.Held, reasons...)
	early := b.quiet(text)
	clear()
	if early != nil {
		note(w.t, name, false, began, "%s, but %v", held.Reason, early)
		return
	}
	w.outcome(r.ID, record.Delivered)
	b.idle()
	got := b.prompts()
	n := 0
	for _, p := range got {
		if plain(p) == text {
			n++
		}
	}
	note(w.t, name, n == 1 && plain(got[len(got)-1]) == text, began, "held %s, then delivered %d time(s)", held.Reason, n)
}

// TestTargetNotReady: the states in which a real Claude can't safely take text.
func TestTargetNotReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, "b")
	b := w.launch("b", nil, "bash", "--norc", "--noprofile", "-i")
	must(t, b.pane.Type(binary(t, current)))
	must(t, b.pane.Keys("Enter"))
	b.idle()
	w.start("", "b")
	w.sees("b", "idle")
	made := filepath.Join(b.cwd, "perm-made")

	w.heldThenDelivered(b, "busy",
		func() { b.prompt("@@hold:x@@"); w.sees("b", "busy") },
		func() { w.model.Release("x") }, record.TargetBusy)
	w.heldThenDelivered(b, "permission dialog",
		func() {
			b.prompt("@@tool:touch perm-made@@")
			b.waiting("Do you want to proceed?")
			w.sees("b", "dialog")
		},
		func() { b.answer("Do you want to proceed?", "Escape") }, record.TargetDialog)
	if _, err := os.Stat(made); err == nil {
		t.Errorf("the dialog was approved: %s exists", made)
	}
	w.heldThenDelivered(b, "question dialog",
		func() { b.prompt("@@ask@@"); b.waiting("Enter to select"); w.sees("b", "dialog") },
		func() { b.answer("Enter to select", "Escape") }, record.TargetDialog)
	w.heldThenDelivered(b, "copy mode",
		func() { b.tmux("copy-mode", "-t", b.pane.ID) },
		func() { b.tmux("copy-mode", "-q", "-t", b.pane.ID) }, record.CopyMode)
	w.heldThenDelivered(b, "human draft",
		func() { must(t, b.pane.Type("half a draft")); b.waiting("half a draft") },
		func() { b.waiting("half a draft"); must(t, b.pane.Keys("C-u")) }, record.TargetDraft)
	w.heldThenDelivered(b, "suspended",
		func() { must(t, b.pane.Keys("C-z")); b.foreground("bash") },
		func() { must(t, b.pane.Type("fg")); must(t, b.pane.Keys("Enter")); b.foreground("claude") },
		record.Suspended)

	began := time.Now()
	must(t, b.pane.Type("/exit"))
	b.waiting("/exit")
	must(t, b.pane.Keys("Enter"))
	b.foreground("bash")
	w.sees("b", "gone")
	w.refused(b, "exited to its shell", began, record.TargetGone)
}

func (c *claude) tmux(args ...string) {
	c.w.t.Helper()
	_, err := c.w.tmux.Run(args...)
	must(c.w.t, err)
}

// foreground waits until a command is in the foreground of the pane.
func (c *claude) foreground(name string) {
	c.w.t.Helper()
	c.w.wait(name+" is in the foreground", func() (bool, error) {
		got, err := c.pane.Var("#{pane_current_command}")
		return got == name, err
	})
}

// refused: a text for this target ends as blocked and appears nowhere.
func (w *world) refused(b *claude, name string, began time.Time, reasons ...record.Reason) {
	w.t.Helper()
	text := "text for " + strings.ReplaceAll(name, " ", "-")
	r := w.outcome(w.send("b", text).ID, record.Blocked, reasons...)
	err := b.quiet(text)
	note(w.t, name, err == nil, began, "blocked %s %v", r.Reason, err)
}

// TestTrustDialog: its highlighted choice is to leave, so an Enter would end the agent.
func TestTrustDialog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, "untrusted")
	b := w.launch("untrusted", nil, binary(t, current))
	b.waiting("Yes, I trust this folder")
	b.name, b.pane.Session = "b", "b"
	b.tmux("rename-session", "-t", "=untrusted", "b")
	w.start("", "b")
	w.heldThenDelivered(b, "trust dialog", func() {}, b.trust, record.TargetDialog, record.TargetStarting, record.StateIsUnknown)
}

// TestTargetGone: panes and servers that end.
func TestTargetGone(t *testing.T) {
	t.Parallel()
	t.Run("dead pane", func(t *testing.T) {
		t.Parallel()
		began := time.Now()
		w := newWorld(t, nil, "b")
		b := w.claude("b", current, nil)
		b.tmux("set-option", "-w", "-t", b.pane.ID, "remain-on-exit", "on")
		w.start("", "b")
		w.sees("b", "idle")
		must(t, b.pane.Type("/exit"))
		b.waiting("/exit")
		must(t, b.pane.Keys("Enter"))
		w.wait("the pane is dead", func() (bool, error) {
			got, err := b.pane.Var("#{pane_dead}")
			return got == "1", err
		})
		w.refused(b, "dead pane with remain-on-exit", began, record.TargetGone)
		if _, err := w.tmux.Run("list-sessions"); err != nil {
			t.Errorf("the tmux server did not survive: %v", err)
		}
	})
	t.Run("pane", func(t *testing.T) {
		t.Parallel()
		began := time.Now()
		w := newWorld(t, nil, "b")
		b := w.claude("b", current, nil)
		w.start("", "b")
		w.sees("b", "idle")
		b.tmux("kill-pane", "-t", b.pane.ID)
		w.sees("b", "gone")
		w.refused(b, "pane gone", began, record.TargetGone, record.TargetUnknown)
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil, "b")
		old := w.claude("b", current, nil)
		w.start("", "b")
		w.sees("b", "idle")
		const text = "text over a restart of tmux"
		b, r := w.restarted(old, text)
		must(t, b.pane.Type(binary(t, current)))
		must(t, b.pane.Keys("Enter"))
		began := time.Now()
		w.outcome(r.ID, record.Delivered)
		b.idle()
		note(t, "an agent of that name again", sums(b.prompts())[text] == 1 && len(b.prompts()) == 1, began, "delivered, %q", b.prompts())
	})
	t.Run("server, pane id", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil, "b")
		old := w.claude("b", current, nil)
		w.named = map[string]string{"b": old.pane.ID}
		w.start("", "b")
		w.sees("b", "idle")
		const text = "text for an id of another server"
		b, r := w.restarted(old, text)
		must(t, b.pane.Type(binary(t, current)))
		must(t, b.pane.Keys("Enter"))
		b.idle()
		began := time.Now()
		err := b.quiet(text)
		held := w.outcome(r.ID, record.Held, record.StateIsUnknown)
		note(t, "a Claude behind the same pane id", err == nil, began, "still held %s: %s %v", held.Reason, held.Detail, err)
	})
}

// restarted ends the tmux server with a text held for it, and starts another one that has the same name and pane id, but a
// shell behind them.
func (w *world) restarted(old *claude, text string) (*claude, record.Record) {
	w.t.Helper()
	began := time.Now()
	must(w.t, w.tmux.Kill())
	r := w.send("b", text)
	held := w.outcome(r.ID, record.Held, record.ServerUnreachable)
	again, err := rig.NewTmux(w.dir)
	must(w.t, err)
	w.tmux = again
	b := w.launch("b", nil, "bash", "--norc", "--noprofile", "-i")
	early := b.quiet(text)
	now := w.outcome(r.ID, record.Held)
	note(w.t, "tmux restarted, a shell behind its pane id", early == nil && b.pane.ID == old.pane.ID, began,
		"held %s, then %s, pane %s again %v", held.Reason, now.Reason, b.pane.ID, early)
	return b, r
}
