package tmux_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/madohub/madohub/tmux"
)

// implementations are all ways to a server. The suite in conn_test.go runs for each of them.
var implementations = []struct {
	name string
	open func(testing.TB, tmux.Options) tmux.Conn
}{
	{"exec", func(t testing.TB, opt tmux.Options) tmux.Conn {
		t.Helper()
		conn, err := tmux.Open(opt)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}},
}

// suite runs a test on a fresh server for each implementation.
func suite(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	for _, impl := range implementations {
		t.Run(impl.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.open = impl.open
			test(t, s)
		})
	}
}

const (
	receiverEnv = "MADOHUB_TEST_RECEIVER"
	bracketEnv  = "MADOHUB_TEST_BRACKET"
)

// The oracle of all typing is a program in the pane that logs the raw bytes it reads: this test binary again.
func TestMain(m *testing.M) {
	if log := os.Getenv(receiverEnv); log != "" {
		if err := receive(log, os.Getenv(bracketEnv) != ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func receive(path string, bracket bool) error {
	tty, err := unix.IoctlGetTermios(0, getTermios)
	if err != nil {
		return err
	}
	tty.Iflag, tty.Oflag, tty.Lflag = 0, unix.OPOST|unix.ONLCR, 0
	tty.Cc[unix.VMIN], tty.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(0, setTermios, tty); err != nil {
		return err
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if bracket {
		fmt.Print("\x1b[?2004h")
	}
	fmt.Print("READY")
	_, err = io.Copy(log, os.Stdin)
	return err
}

// server is a private tmux server.
type server struct {
	t      testing.TB
	socket string
	open   func(testing.TB, tmux.Options) tmux.Conn
}

var servers atomic.Int32

func newServer(t testing.TB) *server {
	t.Helper()
	s := &server{t: t, socket: fmt.Sprintf("madotest-%d-%d", os.Getpid(), servers.Add(1))}
	t.Cleanup(func() {
		path, err := s.try("display-message", "-p", "#{socket_path}")
		if err == nil && filepath.IsAbs(path) {
			_, _ = s.try("kill-server") // it may end first
			os.Remove(path)
		}
	})
	return s
}

func (s *server) try(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-L", s.socket, "-f", "/dev/null", "-u"}, args...)...)
	cmd.Env = cleanEnv()
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

func cleanEnv() []string {
	env := []string{"SHELL=/bin/sh", "TERM=xterm"}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "TMUX_TMPDIR"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// tmux runs tmux itself, beside the Conn that is tested.
func (s *server) tmux(args ...string) string {
	s.t.Helper()
	out, err := s.try(args...)
	if err != nil {
		s.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return out
}

// start makes a session with a program and returns its pane. A server that is just being killed may refuse once.
func (s *server) start(session, command string) string {
	s.t.Helper()
	var pane string
	eventually(s.t, "a session", func() bool {
		out, err := s.try("new-session", "-d", "-s", session, "-x", "80", "-y", "24", "-P", "-F", "#{pane_id}", command)
		pane = out
		return err == nil
	})
	return pane
}

// conn is the Conn that is tested.
func (s *server) conn() tmux.Conn { return s.open(s.t, tmux.Options{Socket: s.socket}) }

// receiver is a pane in which a program logs what it gets.
type receiver struct {
	s    *server
	pane string
	log  string
}

type mode string

const (
	plain     mode = ""
	bracketed mode = "1"
)

func (s *server) receiver(m mode) *receiver {
	s.t.Helper()
	dir, err := os.MkdirTemp("", "madotest")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { os.RemoveAll(dir) })
	r := &receiver{s: s, log: filepath.Join(dir, "log")}
	command := fmt.Sprintf("exec env %s=%s %s=%s %s", receiverEnv, r.log, bracketEnv, m, os.Args[0])
	if out, err := s.try("new-window", "-d", "-P", "-F", "#{pane_id}", command); err == nil {
		r.pane = out
	} else {
		r.pane = s.start("receivers", command)
	}
	eventually(s.t, "a ready receiver", func() bool { return strings.Contains(s.tmux("capture-pane", "-p", "-t", r.pane), "READY") })
	return r
}

func (r *receiver) got() string {
	data, err := os.ReadFile(r.log)
	if err != nil {
		r.s.t.Fatal(err)
	}
	return string(data)
}

// expect waits for exactly these bytes: what comes after them would turn up with the next expect at the latest.
func (r *receiver) expect(want string) {
	r.s.t.Helper()
	eventually(r.s.t, fmt.Sprintf("%.200q in the pane", want), func() bool { return len(r.got()) >= len(want) })
	if got := r.got(); got != want {
		r.s.t.Fatalf("the pane got %.400q, want %.400q", got, want)
	}
}

// expectNothingSince presses a key past the Conn and shows that nothing came before it.
func (r *receiver) expectNothingSince(before string) {
	r.s.t.Helper()
	r.s.tmux("send-keys", "-t", r.pane, "-l", "Z")
	r.expect(before + "Z")
}

// guard is the pane as it is now.
func (r *receiver) guard(c tmux.Conn) tmux.Guard {
	r.s.t.Helper()
	return guardOf(r.s.t, c, r.pane)
}

func guardOf(t testing.TB, c tmux.Conn, pane string) tmux.Guard {
	t.Helper()
	snap, p := lookAt(t, c, pane)
	marker, err := c.Marker(t.Context(), snap.Server, pane)
	if err != nil {
		t.Fatal(err)
	}
	return tmux.Guard{Server: snap.Server, Pane: pane, PanePID: p.PID, Marker: marker}
}

func lookAt(t testing.TB, c tmux.Conn, pane string) (tmux.Snapshot, tmux.Pane) {
	t.Helper()
	snap, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, ok := snap.Pane(pane)
	if !ok {
		t.Fatalf("no pane %s in %+v", pane, snap)
	}
	return snap, p
}

var markers atomic.Int32

// piece is a paste with a fresh buffer and marker.
func piece(g tmux.Guard, text string) tmux.Paste {
	n := strconv.Itoa(int(markers.Add(1)))
	return tmux.Paste{Guard: g, Text: text, Buffer: "b-" + n, Marker: "m_" + n}
}

func mustPaste(t testing.TB, c tmux.Conn, p tmux.Paste) {
	t.Helper()
	if r, err := c.Paste(t.Context(), p); err != nil || !r.Done {
		t.Fatalf("paste: %+v, %v", r, err)
	}
}

// mustRefuse shows that neither text nor key goes in, for a reason with this word, and that no buffer is left.
func mustRefuse(t testing.TB, c tmux.Conn, s *server, g tmux.Guard, why string) {
	t.Helper()
	r, err := c.Paste(t.Context(), piece(g, "harm"))
	if err != nil || r.Done || !strings.Contains(r.Why, why) {
		t.Errorf("paste: %+v, %v; want a refusal with %q", r, err, why)
	}
	r, err = c.Press(t.Context(), tmux.Press{Guard: g, Key: "Enter", Marker: "k"})
	if err != nil || r.Done || !strings.Contains(r.Why, why) {
		t.Errorf("press: %+v, %v; want a refusal with %q", r, err, why)
	}
	if left := s.tmux("list-buffers"); left != "" {
		t.Errorf("buffers are left: %q", left)
	}
}

// eventually polls a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// counted is a tmux that counts how often it is run.
func counted(t testing.TB) (binary string, runs func() int) {
	t.Helper()
	path, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	binary = filepath.Join(dir, "counted-tmux")
	script := fmt.Sprintf("#!/bin/sh\necho run >>'%s'\nexec %s \"$@\"\n", log, path)
	if err := os.WriteFile(binary, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return binary, func() int {
		data, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return bytes.Count(data, []byte("\n"))
	}
}

// signal stops or continues the private server.
func (s *server) signal(pid int, sig syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		s.t.Fatal(err)
	}
}
