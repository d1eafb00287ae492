//go:build agents

package realagents

import (
	"bufio"
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

// sums counts how often each text stands among prompts.
func sums(prompts []string) map[string]int {
	n := map[string]int{}
	for _, p := range prompts {
		n[plain(p)]++
	}
	return n
}

// session is the daemon's word for an agent's session.
func (w *world) session(name string) string {
	w.t.Helper()
	s, err := w.daemon.Status()
	must(w.t, err)
	for _, a := range s.Agents {
		if a.Name == name {
			return a.SessionID
		}
	}
	w.t.Fatalf("no agent %s", name)
	return ""
}

// TestTwoInOneDirectory: each answer is of the pane that gave it. When both panes go on with one session, whose answer is
// whose can't be told: that is said, and nothing is typed.
func TestTwoInOneDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, "a", "b")
	a, b := w.pair()
	twin := w.launchAt("twin", a.cwd, nil, binary(t, current))
	twin.waiting("❯")
	twin.idle() // of the two, the one that was started last
	w.start(wrapped+"  - {name: other, from: twin, to: b, guard: {cooldown: 1s, max_rounds: 20}}\n", "a", "twin", "b")
	for _, n := range []string{"a", "twin", "b"} {
		w.sees(n, "idle")
	}
	began := time.Now()
	const rounds = 3
	for i := range rounds {
		must(t, a.pane.Prompt(w.ctx(), fmt.Sprintf("@@short:Answer %d of a.@@", i)))
		must(t, twin.pane.Prompt(w.ctx(), fmt.Sprintf("@@short:Answer %d of twin.@@", i)))
		for connection, from := range map[string]string{"pass": "a", "other": "twin"} {
			text := fmt.Sprintf("Answer %d of %s.", i, from)
			w.find(text, func(r record.Record) bool {
				return r.Connection == connection && r.SourceText == text && r.Outcome == record.Delivered
			})
		}
	}
	b.idle()
	got := sums(b.prompts())
	ok := len(b.prompts()) == 2*rounds
	for i := range rounds {
		ok = ok && got[fmt.Sprintf("Answer %d of a.", i)] == 1 && got[fmt.Sprintf("Answer %d of twin.", i)] == 1
	}
	note(t, "two sessions", ok, began, "%d prompts, each answer once, of its own pane", len(b.prompts()))

	began = time.Now()
	_, err := w.tmux.Run("respawn-pane", "-k", "-t", twin.pane.ID, binary(t, current)+" --resume "+w.session("a"))
	must(t, err)
	w.sees("a", "unknown")
	w.sees("twin", "unknown")
	const text = "text for a session of two panes"
	r := w.send("a", text)
	held := w.outcome(r.ID, record.Held, record.StateIsUnknown)
	early := a.quiet(text)
	a.tmux("kill-pane", "-t", twin.pane.ID)
	w.outcome(r.ID, record.Delivered)
	a.idle()
	n := sums(a.prompts())[text]
	note(t, "one session in two panes", early == nil && n == 1, began, "held %s (%s), delivered %d time(s) when alone again %v",
		held.Reason, held.Detail, n, early)
}

// TestForeignSessionFile: a session file that an earlier process with this pid left says idle and names another agent's
// session, while the real agent shows its trust dialog, whose highlighted choice is to leave.
func TestForeignSessionFile(t *testing.T) {
	t.Parallel()
	began := time.Now()
	w := newWorld(t, nil, "untrusted", "b")
	b := w.claude("b", current, nil)
	b.ask("@@short:Answer of b.@@")
	s, err := w.home.Session(b.cwd)
	must(t, err)
	theirs := filepath.Join(string(w.home), "sessions", fmt.Sprint(s.PID)+".json")
	// One of a process that ended, and one with the very pid that the agent will have.
	dead := strings.Replace(read(t, theirs), fmt.Sprintf(`"pid":%d`, s.PID), `"pid":4194303`, 1)
	dead = strings.Replace(dead, b.cwd, w.cwd("untrusted"), 1)
	must(t, os.WriteFile(filepath.Join(string(w.home), "sessions", "4194303.json"), []byte(dead), 0o600))
	reused := fmt.Sprintf(`sed "s/\"pid\":%d/\"pid\":$$/" %s > %s/sessions/$$.json; exec %s`, s.PID, theirs, w.home, binary(t, current))
	a := w.launchAt("a", w.cwd("untrusted"), nil, "bash", "-c", reused)
	a.waiting("Yes, I trust this folder")
	w.start(wrapped, "a", "b")
	w.sees("b", "idle")
	_, _, err = w.daemon.Ctl("fire", "pass")
	fired := strings.TrimSpace(fmt.Sprint(err))
	w.heldThenDelivered(a, "reused pid file, trust dialog", func() {}, a.trust, record.TargetDialog, record.TargetStarting, record.StateIsUnknown)
	a.ask("@@short:Answer of a.@@")
	r := w.find("the answer of a", func(r record.Record) bool {
		return r.Connection == "pass" && r.SourceText == "Answer of a." && r.Outcome.Final()
	})
	b.idle()
	got := sums(b.prompts())
	note(t, "stale and reused pid files", r.Outcome == record.Delivered && got["Answer of a."] == 1 && got["Answer of b."] == 0, began,
		"%s; fire meanwhile: %.60s", r.Outcome, fired)
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	must(t, err)
	return string(raw)
}

// huge is how large a transcript is made.
const huge = 500 << 20

// grow appends tool results to a transcript, in the chain below its last line, until it has a size.
func grow(t *testing.T, file string, size int64) {
	t.Helper()
	var last rig.Line
	for line := range strings.Lines(read(t, file)) {
		var l rig.Line
		if json.Unmarshal([]byte(line), &l) == nil && l.UUID != "" {
			last = l
		}
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	junk := strings.Repeat("junk of a tool, not an answer. ", 3300)
	parent := last.UUID
	for i := 0; ; i++ {
		info, err := f.Stat()
		must(t, err)
		if info.Size() >= size {
			break
		}
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		must(t, json.NewEncoder(out).Encode(map[string]any{
			"parentUuid": parent, "isSidechain": false, "type": "user", "uuid": id, "userType": "external", "version": current,
			"timestamp": last.Time, "message": map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "tool_result", "tool_use_id": fmt.Sprintf("toolu_%d", i), "content": junk},
			}},
		}))
		must(t, out.Flush())
		parent = id
	}
}

// TestHugeTranscript: 500 MB behind the last turn hide nothing and cost no memory.
func TestHugeTranscript(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, "a", "b")
	a, b := w.pair()
	a.ask("@@short:Before.@@")
	files, err := filepath.Glob(filepath.Join(string(w.home), "projects", "*", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("transcripts of a: %q, %v", files, err)
	}
	grow(t, files[0], huge)
	began := time.Now()
	d := w.start(wrapped, "a", "b")
	w.sees("a", "idle")
	ready := time.Since(began)
	for _, answer := range []string{"First after.", "Second after."} {
		must(t, a.pane.Prompt(w.ctx(), "@@short:"+answer+"@@"))
		w.find(answer, func(r record.Record) bool { return r.SourceText == answer && r.Outcome == record.Delivered })
	}
	b.idle()
	got := b.prompts()
	info, err := os.Stat(files[0])
	must(t, err)
	note(t, "a transcript of 500 MB", len(got) == 2 && plain(got[0]) == "First after." && plain(got[1]) == "Second after." && info.Size() > huge, began,
		"%q; seen after %.1f s, daemon's memory at most %s", got, ready.Seconds(), peak(t, d.PID()))
}

// peak is the most memory that a process had.
func peak(t *testing.T, pid int) string {
	t.Helper()
	for line := range strings.Lines(read(t, fmt.Sprintf("/proc/%d/status", pid))) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return "?"
}
