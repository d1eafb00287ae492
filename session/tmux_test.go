package session

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/scripts/rig"
	"github.com/madohub/madohub/tmux"
)

// live is a Sessions on a real tmux server and the real /proc.
type live struct {
	*testing.T
	mux    *rig.Tmux
	s      *Sessions
	events chan Event
	home   string
}

func newLive(t *testing.T, specs ...Spec) *live {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("these tests need tmux")
	}
	dir, err := os.MkdirTemp("", "madotest-session")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	mux, err := rig.NewTmux(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = mux.Run("kill-server") })
	conn, err := tmux.Open(tmux.Options{Socket: mux.Socket})
	if err != nil {
		t.Fatal(err)
	}
	l := &live{T: t, mux: mux, events: make(chan Event, 1000), home: dir}
	l.s = New(Options{
		Servers: []Server{{Conn: conn, Poll: 50 * time.Millisecond}}, Specs: specs,
		OnEvent: func(ev Event) {
			if ev.Kind != Changed {
				l.events <- ev
			}
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run ended with %v", err)
		}
	})
	return l
}

func (l *live) tmux(args ...string) string {
	l.Helper()
	out, err := l.mux.Run(args...)
	if err != nil {
		l.Fatal(err)
	}
	return out
}

// shell starts a bash with the prompt "$ " as a session of its own.
func (l *live) shell(name string) string {
	l.Helper()
	return l.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", name, "-x", "40", "-y", "10", "-e", "PS1=$ ",
		"-e", "HOME="+l.home, "--", "bash", "--norc", "--noprofile")
}

func (l *live) next(kind EventKind) Event {
	l.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case ev := <-l.events:
			if ev.Kind == kind {
				return ev
			}
		case <-deadline:
			l.Fatalf("no event of kind %d; views %+v", kind, l.s.Views())
		}
	}
}

func (l *live) until(what string, ok func() bool) {
	l.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			l.Fatalf("not in time: %s; views %+v", what, l.s.Views())
		}
	}
}

func (l *live) state(name string, want record.State) View {
	l.Helper()
	l.until(fmt.Sprintf("%s is %s", name, want), func() bool { v, _ := l.s.View(name); return v.State == want })
	v, _ := l.s.View(name)
	return v
}

func TestShellOnRealTmux(t *testing.T) {
	t.Parallel()
	l := newLive(t, Spec{Name: "sh", Kind: "shell", Target: "shell"})
	id := l.shell("shell")
	l.next(Found)
	v := l.state("sh", record.StateIdle)
	if v.Pane.ID != id || !v.Shell || v.Hold != "" {
		t.Errorf("view is %+v", v)
	}
	l.until("the empty prompt was seen", func() bool { v, err := l.s.Look(context.Background(), "sh"); return err == nil && v.Box.Found })
	l.ended("echo hello", "hello")
	l.ended("printf 'one\\ntwo\\n'; sleep 0.5; echo 99%", "one\ntwo\n99%")
	l.ended("echo 0123456789012345678901234567890123456789012345678901234567890123456789", strings.Repeat("0123456789", 7))
	l.ended("echo '$ looks like a prompt'; echo done", "$ looks like a prompt\ndone")
	l.ended("seq 60 | tail -40", seq(21, 60))
	l.tmux("send-keys", "-t", id, "sleep 100", "Enter")
	l.next(TurnOpened)
	l.until("sleep runs", func() bool {
		v, _ := l.s.View("sh")
		return v.State == record.StateBusy && v.Hold == record.TargetBusy && strings.Contains(v.Evidence, "sleep in foreground")
	})
	l.tmux("send-keys", "-t", id, "C-c")
	if ev := l.next(TurnEnded); ev.Turn.Prompt != "sleep 100" {
		t.Errorf("ended with the prompt %q", ev.Turn.Prompt)
	}
	l.state("sh", record.StateIdle)
	l.tmux("kill-session", "-t", "=shell:")
	if v := l.state("sh", record.StateGone); !v.Gone || v.Hold == "" {
		t.Errorf("view is %+v", v)
	}
	// A new session of this name is found again.
	l.shell("shell")
	l.next(Found)
	l.state("sh", record.StateIdle)
}

func seq(from, to int) string {
	var lines []string
	for ; from <= to; from++ {
		lines = append(lines, fmt.Sprint(from))
	}
	return strings.Join(lines, "\n")
}

// ended runs a command in the shell, proves it by the screen, and waits for its turn.
func (l *live) ended(command, want string) {
	l.Helper()
	ctx := context.Background()
	mark, err := l.s.Mark(ctx, "sh")
	if err != nil {
		l.Fatal(err)
	}
	v, _ := l.s.View("sh")
	l.tmux("send-keys", "-t", v.Pane.ID, "-l", command)
	l.until("the command stands at the prompt", func() bool {
		v, err := l.s.Look(ctx, "sh")
		return err == nil && v.Box.Text == command && v.Hold == record.TargetDraft
	})
	if taken, err := l.s.Taken(ctx, "sh", mark, command); err != nil || taken.Proof != "" {
		l.Fatalf("before Enter: %+v, %v", taken, err)
	}
	l.tmux("send-keys", "-t", v.Pane.ID, "Enter")
	l.until("the command is proved", func() bool {
		taken, err := l.s.Taken(ctx, "sh", mark, command)
		return err == nil && taken.Proof == record.ProofScreen
	})
	if ev := l.next(PromptTaken); ev.Prompt.Text != command {
		l.Errorf("prompt is %q, want %q", ev.Prompt.Text, command)
	}
	if ev := l.next(TurnEnded); ev.Turn.Prompt != command || ev.Turn.Answer != want {
		l.Errorf("turn of %q ended with %q, want %q after %q", ev.Turn.Prompt, ev.Turn.Answer, want, command)
	}
	out, err := l.s.Output(ctx, "sh")
	if strings.HasPrefix(want, "$ ") { // the kind alone can't tell such a line from a prompt
		return
	}
	if err != nil || strings.Join(out, "\n") != want {
		l.Errorf("output is %q, %v; want %q", out, err, want)
	}
}

// A process that is called claude, with a session record of the real format, below a real shell.
func TestAgentOnRealProcesses(t *testing.T) {
	t.Parallel()
	l := newLive(t, Spec{Name: "coder", Target: "agent"}, Spec{Name: "late", Target: "work:1"})
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	fake := filepath.Join(l.home, "claude")
	b, err := os.ReadFile(sleep)
	if err == nil {
		err = os.WriteFile(fake, b, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	id := l.shell("agent")
	if v := l.state("coder", record.StateUnknown); v.Gone {
		t.Errorf("view is %+v", v)
	}
	l.tmux("send-keys", "-t", id, fake+" 1000", "Enter")
	v := l.state("coder", record.StateStarting)
	start := fmt.Sprint(v.Process.Start)
	write := func(procStart string) {
		t.Helper()
		text := fmt.Sprintf(`{"pid":%d,"sessionId":"s1","cwd":"/","procStart":%q,"version":"2.1.332","kind":"interactive",`+
			`"entrypoint":"cli","status":"idle","statusUpdatedAt":%d}`, v.Process.PID, procStart, time.Now().Add(-time.Minute).UnixMilli())
		dir := filepath.Join(l.home, ".claude", "sessions")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", v.Process.PID)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(start)
	if ev := l.next(Found); ev.View.SessionID != "s1" || ev.View.State != record.StateIdle {
		t.Errorf("found %+v", ev.View)
	}
	if name, isAgent, err := l.s.WhoIs(v.Process.PID); name != "coder" || !isAgent || err != nil {
		t.Errorf("WhoIs = %q, %t, %v", name, isAgent, err)
	}
	if _, isAgent, err := l.s.WhoIs(v.Process.PPID); isAgent || err != nil {
		t.Errorf("WhoIs of its shell = %t, %v", isAgent, err)
	}
	l.tmux("send-keys", "-t", id, "C-z")
	if v := l.state("coder", record.StateSuspended); v.Hold != record.Suspended {
		t.Errorf("view is %+v", v)
	}
	l.tmux("send-keys", "-t", id, "fg", "Enter")
	l.state("coder", record.StateIdle)
	l.tmux("copy-mode", "-t", id)
	l.until("copy mode holds", func() bool { v, _ := l.s.View("coder"); return v.Hold == record.CopyMode })
	l.tmux("copy-mode", "-q", "-t", id)
	write("1")
	l.until("the record is stale", func() bool { v, _ := l.s.View("coder"); return v.SessionID == "" && v.Hold != "" })
	write(start)
	l.state("coder", record.StateIdle)
	l.tmux("move-pane", "-d", "-s", id, "-t", "=idle:")
	l.until("the pane is followed", func() bool { v, _ := l.s.View("coder"); return v.Pane.Session == "idle" && v.State == record.StateIdle })
	l.tmux("send-keys", "-t", id, "C-c")
	if v := l.state("coder", record.StateGone); !v.Gone || !strings.Contains(v.Evidence, "has ended") || v.Pane.ID != id {
		t.Errorf("view is %+v", v)
	}
	if v, _ := l.s.View("late"); v.State != record.StateGone || v.Gone {
		t.Errorf("an agent without a pane is %+v", v)
	}
	l.tmux("kill-server")
	if v := l.state("coder", record.StateUnknown); v.Hold != record.ServerUnreachable || v.Gone {
		t.Errorf("view without a server is %+v", v)
	}
}
