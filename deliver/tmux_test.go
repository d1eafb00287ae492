package deliver

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session"
	"github.com/madohub/madohub/tmux"
)

// rig is a real tmux server with one pane. In it a program notes every byte that arrives: that file is the oracle.
type rig struct {
	t      *testing.T
	socket string
	log    string
	pane   string
	conn   tmux.Conn
	typing func(tmux.Conn) tmux.Conn // what deliveries type through
	onMark func()
}

var rigs atomic.Int64

func newRig(t *testing.T, command string) *rig {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("these tests need tmux: scripts/need-tmux.sh installs it")
	}
	r := &rig{t: t, socket: fmt.Sprintf("madotest-deliver-%d-%d", os.Getpid(), rigs.Add(1)), log: filepath.Join(t.TempDir(), "bytes")}
	if command == "" {
		command = "stty raw -echo; printf '\\033[?2004hready'; exec cat > " + r.log
	}
	t.Cleanup(func() { _ = exec.Command("tmux", "-L", r.socket, "kill-server").Run() })
	r.start(command)
	path := r.tmux("display-message", "-p", "#{socket_path}")
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-L", r.socket, "kill-server").Run()
		_ = os.Remove(path) // tmux leaves it behind
	})
	conn, err := tmux.Open(tmux.Options{Socket: r.socket})
	if err != nil {
		t.Fatal(err)
	}
	r.conn = conn
	r.typing = func(c tmux.Conn) tmux.Conn { return c }
	return r
}

func (r *rig) start(command string) {
	r.t.Helper()
	r.pane = r.tmux("-f", "/dev/null", "new-session", "-d", "-P", "-F", "#{pane_id}", "-x", "80", "-y", "24", command)
	r.until("the program in the pane", func() bool {
		return strings.TrimSpace(r.tmux("capture-pane", "-p", "-t", r.pane)) != ""
	})
}

func (r *rig) tmux(args ...string) string {
	r.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-L", r.socket}, args...)...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *rig) until(what string, done func() bool) {
	r.t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("no %s in time", what)
		}
	}
}

func (r *rig) bytes() []byte {
	b, err := os.ReadFile(r.log)
	if err != nil && !os.IsNotExist(err) {
		r.t.Error(err)
	}
	return b
}

// read is what an agent makes of the bytes: framed text goes into its box, a carriage return outside a frame submits it.
func read(raw []byte) (box string, submitted []string) {
	for len(raw) > 0 {
		if rest, ok := bytes.CutPrefix(raw, []byte("\x1b[200~")); ok {
			text, after, done := bytes.Cut(rest, []byte("\x1b[201~"))
			if !done {
				return box + string(text), submitted
			}
			box, raw = box+string(text), after
			continue
		}
		if raw[0] == '\r' {
			submitted, box = append(submitted, box), ""
		} else {
			box += "<" + string(raw[:1]) + ">" // not framed: not ours
		}
		raw = raw[1:]
	}
	return box, submitted
}

// Look, Mark, Taken and Terminal make the rig its own Sessions.
func (r *rig) Look(ctx context.Context, _ string) (session.View, error) {
	snap, err := r.conn.List(ctx)
	if err != nil {
		return session.View{Hold: record.ServerUnreachable, Problem: err.Error()}, nil
	}
	box, _ := read(r.bytes())
	v := session.View{State: record.StateIdle, Evidence: "test", Socket: r.socket, Server: snap.Server, Box: agent.Box{Found: true, Text: box}}
	for _, p := range snap.Panes {
		if p.ID == r.pane {
			v.Pane, v.Gone = p, p.Dead
		}
	}
	return v, nil
}

func (r *rig) Left(session.View) string { return "" }

func (r *rig) Mark(context.Context, string) (session.Mark, error) {
	if r.onMark != nil {
		r.onMark()
	}
	_, s := read(r.bytes())
	return session.Mark{Offset: int64(len(s))}, nil
}

func (r *rig) Taken(_ context.Context, _ string, m session.Mark, text string) (session.Taken, error) {
	_, s := read(r.bytes())
	for _, have := range s[min(int(m.Offset), len(s)):] {
		if have == text {
			return session.Taken{Proof: record.ProofTranscript}, nil
		}
	}
	return session.Taken{}, nil
}

func (r *rig) Terminal(string) (tmux.Conn, bool) { return r.typing(r.conn), true }

func (r *rig) options(w *world) Options {
	o := w.options()
	o.Sessions = r
	o.Limits = func() Limits { return Limits{} }
	o.Typing = func(string, string) (Typing, error) {
		txt := fakeText()
		txt.LineDelayMin, txt.LineDelayMax, txt.BeforeSubmit = time.Millisecond, 3*time.Millisecond, 20*time.Millisecond
		return Typing{Text: txt}, nil
	}
	return o
}

const oddText = "it's; \"quoted\" `id` $HOME #{pane_id} #(id) \\ ~ %1 -R --\n\n!no /no @no;\n\té e\u0301 日本語 👨‍👩‍👧 🇯🇵 مرحبا;\nlast line;"

// TestRealBytes: what arrives is the text in frames, a line a frame, and one carriage return.
func TestRealBytes(t *testing.T) {
	r, w := newRig(t, ""), newWorld(t)
	text := oddText + "\n" + strings.Repeat("x", 1700)
	w.add("r_1", text+"\x1b[201~\x03\n")
	_, stop := w.start(r.options(w))
	r.until("outcome", func() bool { return w.rec("r_1").Outcome.Final() })
	stop()
	w.want("r_1", record.Delivered, "")
	var want bytes.Buffer
	for _, piece := range append(strings.SplitAfter(oddText+"\n", "\n")[:5], strings.Repeat("x", 800), strings.Repeat("x", 800), strings.Repeat("x", 100)) {
		fmt.Fprintf(&want, "\x1b[200~%s\x1b[201~", piece)
	}
	want.WriteString("\r")
	if got := r.bytes(); !bytes.Equal(got, want.Bytes()) {
		t.Errorf("got  %q\nwant %q", got, want.Bytes())
	}
	if left := r.tmux("list-buffers"); left != "" {
		t.Errorf("buffers are left: %s", left)
	}
}

// killing is a tmux whose typing clients are killed at any moment of their lives, at most three in a row.
type killing struct {
	tmux.Conn
	life   time.Duration // what a client takes here
	row    *atomic.Int64
	killed *atomic.Int64
}

func (k killing) hurry(ctx context.Context, call func(context.Context) (tmux.Result, error)) (tmux.Result, error) {
	if k.row.Load() >= 3 {
		k.row.Store(0)
		return call(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, rand.N(2*k.life))
	defer cancel()
	res, err := call(ctx)
	if err != nil {
		k.row.Add(1)
		k.killed.Add(1)
	}
	return res, err
}

func (k killing) Paste(ctx context.Context, p tmux.Paste) (tmux.Result, error) {
	return k.hurry(ctx, func(ctx context.Context) (tmux.Result, error) { return k.Conn.Paste(ctx, p) })
}

func (k killing) Press(ctx context.Context, p tmux.Press) (tmux.Result, error) {
	return k.hurry(ctx, func(ctx context.Context) (tmux.Result, error) { return k.Conn.Press(ctx, p) })
}

// TestRealKilledClients: none missing, none doubled, in order.
func TestRealKilledClients(t *testing.T) {
	r, w := newRig(t, ""), newWorld(t)
	var row, killed atomic.Int64
	began := time.Now()
	for range 5 {
		if _, err := r.conn.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	life := time.Since(began) / 5
	r.typing = func(c tmux.Conn) tmux.Conn { return killing{c, life, &row, &killed} }
	var want []string
	for i := range 8 {
		text := fmt.Sprintf("text %d\nsecond line\n\nfourth %d", i, i)
		want = append(want, text)
		w.add(fmt.Sprintf("r_%d", i), text)
	}
	_, stop := w.start(r.options(w))
	r.until("outcomes", func() bool {
		_, s := read(r.bytes())
		return len(s) >= len(want) && w.rec("r_7").Outcome.Final()
	})
	stop()
	box, got := read(r.bytes())
	if strings.Join(got, "|") != strings.Join(want, "|") || box != "" {
		t.Errorf("got %q and %q in the box, want %q", got, box, want)
	}
	if killed.Load() == 0 {
		t.Error("no client was killed: nothing was tested")
	}
	t.Logf("%d clients killed", killed.Load())
}

// noticing tells of the first paste that did not end well.
type noticing struct {
	tmux.Conn
	cut func()
}

func (n *noticing) Paste(ctx context.Context, p tmux.Paste) (tmux.Result, error) {
	res, err := n.Conn.Paste(ctx, p)
	if err != nil {
		n.cut()
	}
	return res, err
}

func await(t *testing.T, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(20 * time.Second):
		t.Fatal("no client of ours was cut off")
	}
}

// TestRealServerStopped: a tmux server that stands still in the middle of a text, and goes on.
func TestRealServerStopped(t *testing.T) {
	r, w := newRig(t, ""), newWorld(t)
	var pid int
	if _, err := fmt.Sscan(r.tmux("display-message", "-p", "#{pid}"), &pid); err != nil {
		t.Fatal(err)
	}
	short, err := tmux.Open(tmux.Options{Socket: r.socket, Timeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	r.conn = short
	cut := make(chan struct{})
	r.typing = func(c tmux.Conn) tmux.Conn { return &noticing{Conn: c, cut: sync.OnceFunc(func() { close(cut) })} }
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	text := strings.Repeat("a line\n", 60) + "end"
	w.add("r_1", text)
	_, stop := w.start(r.options(w))
	r.until("first lines", func() bool { return len(r.bytes()) > 100 })
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	await(t, cut) // only then the stop is one that a delivery has felt
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r.until("outcome", func() bool { return w.rec("r_1").Outcome.Final() })
	stop()
	w.want("r_1", record.Delivered, "")
	if _, got := read(r.bytes()); len(got) != 1 || got[0] != text {
		t.Errorf("got %q", got)
	}
}

// TestRealPaneDies: the pane dies between gate and paste; tmux 3.3a would die of a paste into it.
func TestRealPaneDies(t *testing.T) {
	r, w := newRig(t, ""), newWorld(t)
	r.tmux("set-option", "-g", "remain-on-exit", "on")
	r.onMark = func() {
		r.onMark = nil
		var pid int
		if _, err := fmt.Sscan(r.tmux("display-message", "-p", "-t", r.pane, "#{pane_pid}"), &pid); err != nil {
			t.Error(err)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL) // the program that this test has put into the pane
		r.until("dead pane", func() bool { return r.tmux("display-message", "-p", "-t", r.pane, "#{pane_dead}") == "1" })
	}
	w.add("r_1", "one")
	_, stop := w.start(r.options(w))
	r.until("outcome", func() bool { return w.rec("r_1").Outcome.Final() })
	stop()
	w.want("r_1", record.Blocked, record.TargetGone)
	if w.rounds != 0 || r.tmux("display-message", "-p", "alive") != "alive" {
		t.Errorf("%d rounds", w.rounds)
	}
}

// TestRealServerKilled: nothing is typed into the pane of the same name of the next server.
func TestRealServerKilled(t *testing.T) {
	r, w := newRig(t, ""), newWorld(t)
	w.add("r_1", strings.Repeat("a line\n", 200)+"end")
	_, stop := w.start(r.options(w))
	r.until("first lines", func() bool { return len(r.bytes()) > 200 })
	r.tmux("kill-server")
	if err := os.Rename(r.log, r.log+".old"); err != nil {
		t.Fatal(err)
	}
	r.until("new server", func() bool {
		out, err := exec.Command("tmux", "-L", r.socket, "-f", "/dev/null", "new-session", "-d", "-P", "-F", "#{pane_id}", "cat > "+r.log).Output()
		return err == nil && strings.TrimSpace(string(out)) == r.pane
	})
	r.until("outcome", func() bool { return w.rec("r_1").Outcome.Final() })
	stop()
	if rec := w.rec("r_1"); rec.Outcome != record.Typed && rec.Outcome != record.Unknown {
		t.Errorf("%s/%s", rec.Outcome, rec.Reason)
	}
	if got := r.bytes(); len(got) != 0 {
		t.Errorf("typed into the new server: %q", got)
	}
}

// TestRealShell types into bash, found and watched by the real sessions.
func TestRealShell(t *testing.T) {
	r, w := newRig(t, "env PS1='$ ' bash --norc --noprofile"), newWorld(t)
	sessions := session.New(session.Options{
		Servers: []session.Server{{Conn: r.conn, Poll: 100 * time.Millisecond}},
		Specs:   []session.Spec{{Name: "b", Kind: "shell", Target: r.pane}},
	})
	ctx, cancel := context.WithCancel(t.Context())
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		_ = sessions.Run(ctx)
	}()
	defer func() { cancel(); <-watching }()
	o := r.options(w)
	o.Sessions = sessions
	kind, _ := agent.Get("shell")
	o.Typing = func(string, string) (Typing, error) {
		txt := kind.Text
		txt.MultiLine = true
		return Typing{Text: txt}, nil
	}
	file := filepath.Join(t.TempDir(), "out")
	long := "echo " + strings.Repeat("long ", 40) + ">>" + file
	w.add("r_1", "echo one >>"+file)
	w.add("r_2", long)
	w.add("r_3", "echo three >>"+file+"\necho four >>"+file)
	_, stop := w.start(o)
	r.until("outcomes", func() bool {
		return w.rec("r_1").Outcome.Final() && w.rec("r_2").Outcome.Final() && w.rec("r_3").Outcome.Final()
	})
	for _, id := range []string{"r_1", "r_2", "r_3"} {
		w.want(id, record.Delivered, "")
	}
	want := "one\n" + strings.TrimSpace(strings.Repeat("long ", 40)) + "\nthree\nfour\n"
	r.until("output", func() bool { b, _ := os.ReadFile(file); return string(b) == want })

	// A person's half-typed command is held for.
	r.tmux("send-keys", "-l", "-t", r.pane, "rm -rf nothing ")
	w.add("r_4", "echo five >>"+file)
	r.until("hold", func() bool { return w.rec("r_4").Reason == record.TargetDraft })
	r.tmux("send-keys", "-t", r.pane, "C-u")
	r.until("outcome", func() bool { return w.rec("r_4").Outcome.Final() })
	stop()
	w.want("r_4", record.Delivered, "")
}
