package session

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/tmux"
)

// world is a tmux server, a /proc and a home folder that a test moves by hand.
type world struct {
	testing.TB
	root, home string
	conn       *fakeConn
	s          *Sessions
	parent     string // uuid of the transcript's last line
	lines      int
	linked     map[string]bool
}

// fakeConn is a tmux server without tmux.
type fakeConn struct {
	tmux.Conn
	mu       sync.Mutex // err and lists, which a test of Run changes meanwhile
	snap     tmux.Snapshot
	err      error
	screens  map[string][]string
	lists    int
	captures int
}

func (c *fakeConn) Socket() string { return "test" }

func (c *fakeConn) List(context.Context) (tmux.Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists++
	snap := c.snap
	snap.Taken = time.Now()
	return snap, c.err
}

func (c *fakeConn) fail(err error) (lists int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	return c.lists
}

func (c *fakeConn) Capture(_ context.Context, panes []string, opt tmux.CaptureOptions) (map[string]tmux.Screen, error) {
	c.captures++
	out := map[string]tmux.Screen{}
	for _, id := range panes {
		if p, ok := c.snap.Pane(id); ok {
			rows := append([]string(nil), c.screens[id]...)
			for !opt.Joined && len(rows) < p.Height {
				rows = append(rows, "")
			}
			if skip := len(rows) - p.Height - opt.History; skip > 0 && !opt.Joined {
				rows = rows[skip:]
			}
			out[id] = tmux.Screen{Lines: rows}
		}
	}
	return out, nil
}

func newWorld(t testing.TB, specs ...Spec) *world {
	t.Helper()
	w := &world{TB: t, root: t.TempDir(), home: t.TempDir(), linked: map[string]bool{}}
	w.conn = &fakeConn{screens: map[string][]string{}}
	w.conn.snap.Server = tmux.Identity{PID: 100, Start: 1000}
	w.write(filepath.Join(w.root, "stat"), fmt.Sprintf("cpu 1\nbtime %d\n", time.Now().Add(-time.Hour).Unix()))
	w.proc(process{pid: 100, ppid: 1, comm: "tmux: server"})
	w.s = New(Options{Servers: []Server{{Conn: w.conn}}, Specs: specs, ProcRoot: w.root, Home: w.home})
	return w
}

func (w *world) write(path, text string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		w.Fatal(err)
	}
}

// proc is a fake process. Zero values: below pid 10, in the foreground, sleeping.
type process struct {
	pid, ppid   int
	comm        string
	start       int
	state       string
	pgrp, tpgid int
	cwd         string
	env         map[string]string
	args        string
}

func (w *world) proc(p process) {
	w.Helper()
	if p.state == "" {
		p.state = "S"
	}
	if p.pgrp == 0 {
		p.pgrp = p.pid
	}
	if p.tpgid == 0 {
		p.tpgid = p.pgrp
	}
	if p.start == 0 {
		p.start = 5000 + p.pid
	}
	dir := filepath.Join(w.root, fmt.Sprint(p.pid))
	w.write(filepath.Join(dir, "stat"), fmt.Sprintf("%d (%s) %s %d %d 1 34816 %d 4194304 1 2 3 4 5 6 7 8 20 0 1 0 %d 1 1\n",
		p.pid, p.comm, p.state, p.ppid, p.pgrp, p.tpgid, p.start))
	env := "HOME=" + w.home + "\x00"
	for k, v := range p.env {
		env += k + "=" + v + "\x00"
	}
	w.write(filepath.Join(dir, "environ"), env)
	if p.args == "" {
		p.args = p.comm
	}
	w.write(filepath.Join(dir, "cmdline"), strings.ReplaceAll(p.args, " ", "\x00")+"\x00")
	if p.cwd != "" {
		_ = os.Remove(filepath.Join(dir, "cwd"))
		if err := os.Symlink(p.cwd, filepath.Join(dir, "cwd")); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) exit(pids ...int) {
	for _, pid := range pids {
		if err := os.RemoveAll(filepath.Join(w.root, fmt.Sprint(pid))); err != nil {
			w.Fatal(err)
		}
	}
}

// pane adds a pane to the server, or replaces it.
func (w *world) pane(p tmux.Pane) {
	if p.Width == 0 {
		p.Width, p.Height = 80, 24
	}
	if p.Session == "" {
		p.Session, p.Window = "work", "win"
	}
	if p.Cwd == "" {
		p.Cwd = "/src/app"
	}
	w.drop(p.ID)
	w.conn.snap.Panes = append(w.conn.snap.Panes, p)
}

func (w *world) drop(id string) {
	var keep []tmux.Pane
	for _, p := range w.conn.snap.Panes {
		if p.ID != id {
			keep = append(keep, p)
		}
	}
	w.conn.snap.Panes = keep
}

// claude puts a bash with a claude below it into a pane. The process is pid+1.
func (w *world) claude(id string, pid int) {
	w.pane(tmux.Pane{ID: id, PID: pid, Command: "claude"})
	w.proc(process{pid: pid, ppid: 100, comm: "bash", tpgid: pid + 1})
	w.proc(process{pid: pid + 1, ppid: pid, comm: "claude"})
}

// session writes the session record of a process, changed now.
func (w *world) session(pid int, id, status string, more ...any) {
	w.Helper()
	m := map[string]any{
		"pid": pid, "sessionId": id, "cwd": "/src/app", "procStart": fmt.Sprint(5000 + pid), "version": "2.1.332",
		"kind": "interactive", "entrypoint": "cli", "status": status,
		"updatedAt": time.Now().UnixMilli(), "statusUpdatedAt": time.Now().UnixMilli(),
	}
	for i := 0; i+1 < len(more); i += 2 {
		m[more[i].(string)] = more[i+1]
	}
	if status == "" {
		delete(m, "status")
	}
	b, err := json.Marshal(m)
	if err != nil {
		w.Fatal(err)
	}
	w.write(filepath.Join(w.home, ".claude", "sessions", fmt.Sprint(pid)+".json"), string(b))
}

func (w *world) transcript(session string) string {
	return filepath.Join(w.home, ".claude", "projects", "-src-app", session+".jsonl")
}

// line appends a line to a transcript. The parent is the line before.
func (w *world) line(session string, m map[string]any) string {
	w.Helper()
	w.lines++
	id := fmt.Sprintf("line-%d", w.lines)
	m["uuid"], m["parentUuid"], m["isSidechain"], m["cwd"], m["sessionId"] = id, nil, false, "/src/app", session
	if w.parent != "" {
		m["parentUuid"] = w.parent
	}
	m["timestamp"] = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	w.parent = id
	b, err := json.Marshal(m)
	if err != nil {
		w.Fatal(err)
	}
	w.raw(session, string(b)+"\n")
	return id
}

func (w *world) raw(session, text string) {
	w.Helper()
	path := w.transcript(session)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) prompt(session, text string) string {
	return w.line(session, map[string]any{
		"type": "user", "promptSource": "typed", "origin": map[string]any{"kind": "human"},
		"message": map[string]any{"role": "user", "content": text},
	})
}

func (w *world) answer(session, text string) {
	w.line(session, map[string]any{"type": "assistant", "message": map[string]any{
		"id": "msg-" + fmt.Sprint(w.lines), "role": "assistant", "stop_reason": "end_turn",
		"content": []any{map[string]any{"type": "text", "text": text}},
	}})
}

func (w *world) done(session string) {
	w.line(session, map[string]any{"type": "system", "subtype": "turn_duration", "durationMs": 5})
}

// turn writes a whole turn.
func (w *world) turn(session, prompt, answer string) {
	w.prompt(session, prompt)
	w.answer(session, answer)
	w.done(session)
}

// tick looks once at everything and returns what was told, but for Changed.
func (w *world) tick() []string {
	w.Helper()
	w.s.tick(context.Background(), w.s.servers[0])
	list := w.s.events.Take()
	var told []string
	for _, ev := range list {
		text := ev.Agent + " "
		switch ev.Kind {
		case Found:
			text += "found " + ev.View.SessionID
			if ev.Turn.ID != "" {
				text += " after " + ev.Turn.Answer
			}
		case TurnOpened:
			text += "opened " + ev.Turn.Prompt
		case TurnEnded:
			text += "ended " + ev.Turn.Answer + string(ev.Turn.Failure)
		case PromptTaken:
			text += "prompt " + ev.Prompt.Text
		case Changed:
			continue
		}
		told = append(told, strings.TrimSpace(text))
	}
	return told
}

// after lets time pass, then ticks.
func (w *world) after(d time.Duration) []string {
	w.Helper()
	time.Sleep(d) // the fake clock of synctest
	return w.tick()
}

func (w *world) wantTold(got []string, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Fatalf("told (-want +got):\n%s", diff)
	}
}

func (w *world) view(name string) View {
	w.Helper()
	v, ok := w.s.View(name)
	if !ok {
		w.Fatalf("no agent %q", name)
	}
	return v
}

func (w *world) wantState(name string, state record.State, evidence string) View {
	w.Helper()
	v := w.view(name)
	if v.State != state || !strings.Contains(v.Evidence, evidence) {
		w.Fatalf("%s is %q by %q (%s), want %q by %q", name, v.State, v.Evidence, v.Problem, state, evidence)
	}
	return v
}
