package tmux

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const mark = "0123456789abcdef"

// record is what list-panes prints for one pane.
func record(id, texts string) string {
	return mark + "\t" + id + "\t4711\t0\t1\t1\t1\t1\t80\t24\t3\t4\t500\t1796053033\t1\t1\t$1\t@2\t3\t1\t" + texts + "\n"
}

func net(texts ...string) string {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(strconv.Itoa(len(text)) + ":" + text + ",")
	}
	return b.String()
}

func TestParseList(t *testing.T) {
	head := mark + "\t99\t1796053000\n"
	pane := Pane{
		ID: "%5", PID: 4711, Mode: 1, InputOff: true, Synchronized: true, Alternate: true, Width: 80, Height: 24, CursorX: 3,
		CursorY: 4, History: 500, Activity: 1796053033, Active: true, WindowActive: true, SessionID: "$1", WindowID: "@2",
		WindowIndex: 3, PaneIndex: 1, TTY: "/dev/pts/1", Session: "s", Window: "w\tx", Title: "a,b:c", Cwd: "/a\nb\n", Command: "sh",
	}
	good := net(pane.TTY, pane.Session, pane.Window, pane.Title, pane.Cwd, pane.Command)
	blank := pane
	blank.ID, blank.TTY, blank.Session, blank.Window, blank.Title, blank.Cwd, blank.Command = "%6", "", "", "", "", "", ""
	for name, test := range map[string]struct {
		out           string
		panes, linked []Pane
		bad           bool
	}{
		"no panes":              {out: head},
		"one":                   {out: head + record("%5", good), panes: []Pane{pane}},
		"linked":                {out: head + record("%5", good) + record("%5", good), panes: []Pane{pane}, linked: []Pane{pane}},
		"unreadable text":       {out: head + record("%6", "7:x,") + record("%5", good), panes: []Pane{blank, pane}},
		"text of other lengths": {out: head + record("%6", good+"x") + record("%5", good), panes: []Pane{blank, pane}},
		"negative length":       {out: head + record("%6", "-1:"+good), panes: []Pane{blank}},
		"empty":                 {out: "", bad: true},
		"no head":               {out: record("%5", good), bad: true},
		"head cut off":          {out: mark + "\t99\t17960", bad: true},
		"head without pid":      {out: mark + "\t\t1796053000\n", bad: true},
		"other line":            {out: head + "hello\n", bad: true},
		"numbers cut off":       {out: head + mark + "\t%5\t4711\t0\n", bad: true},
		"no number":             {out: head + strings.Replace(record("%5", good), "4711", "x", 1), bad: true},
		"no id":                 {out: head + record("5", good), bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			snap, err := parseList(test.out, mark)
			if (err != nil) != test.bad {
				t.Fatalf("error %v, want one: %v", err, test.bad)
			}
			if err != nil {
				return
			}
			if snap.Server != (Identity{PID: 99, Start: 1796053000}) {
				t.Errorf("server %+v", snap.Server)
			}
			if d := cmp.Diff(test.panes, snap.Panes, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(test.linked, snap.Linked); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseListAllocatesLittle(t *testing.T) {
	out := mark + "\t99\t1796053000\n"
	for i := range 100 {
		out += record("%"+strconv.Itoa(i), net("/dev/pts/1", "session", "window", "title", "/home/x", "claude"))
	}
	if n := testing.AllocsPerRun(10, func() {
		if _, err := parseList(out, mark); err != nil {
			t.Fatal(err)
		}
	}); n > 50 {
		t.Errorf("%v allocations for 100 panes", n)
	}
}

func TestSplitScreens(t *testing.T) {
	at := func(i string) string { return mark + "." + i + "\n" }
	for name, test := range map[string]struct {
		out  string
		want map[string]Screen
		bad  bool
	}{
		"two":          {out: at("0") + "a\n\nb\n" + at("1") + "\n" + at("end"), want: map[string]Screen{"%1": {[]string{"a", "", "b"}}, "%2": {[]string{""}}}},
		"one gone":     {out: at("0") + at("1") + "x\n" + at("end"), want: map[string]Screen{"%2": {[]string{"x"}}}},
		"last gone":    {out: at("0") + "x\n" + at("1") + at("end"), want: map[string]Screen{"%1": {[]string{"x"}}}},
		"all gone":     {out: at("0") + at("1") + at("end"), want: map[string]Screen{}},
		"looks alike":  {out: at("0") + ".1\n" + mark[1:] + ".1\n" + at("1") + "x\n" + at("end"), want: map[string]Screen{"%1": {[]string{".1", mark[1:] + ".1"}}, "%2": {[]string{"x"}}}},
		"nothing":      {out: "", bad: true},
		"cut off":      {out: at("0") + "a\n" + at("1") + "b\n", bad: true},
		"wrong order":  {out: at("1") + "a\n" + at("0") + "b\n" + at("end"), bad: true},
		"noise before": {out: "x\n" + at("0") + "a\n" + at("1") + "b\n" + at("end"), bad: true},
		"noise after":  {out: at("0") + "a\n" + at("1") + "b\n" + at("end") + "x", bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := splitScreens(test.out, []string{"%1", "%2"}, mark)
			if (err != nil) != test.bad {
				t.Fatalf("error %v, want one: %v", err, test.bad)
			}
			if d := cmp.Diff(test.want, got); d != "" && !test.bad {
				t.Error(d)
			}
		})
	}
}

func FuzzParseList(f *testing.F) {
	f.Add("%5", net("/dev/pts/1", "s", "w\tx", "t", "/a\nb", "sh"), "")
	f.Add("%6", "99999999999999999999:x,", "rest")
	f.Add("%7", "3:a\n"+mark+",", "\n")
	f.Fuzz(func(t *testing.T, id, texts, tail string) {
		if strings.Contains(texts+tail+id, mark) {
			t.Skip() // nobody knows the nonce
		}
		// Whatever one pane shows, the next one is read right.
		next := record("%4000000000", net("tty", "s", "w", "t", "c", "x"))
		snap, err := parseList(mark+"\t99\t1\n"+record("%1", texts)+next, mark)
		if err != nil {
			t.Fatal(err)
		}
		if len(snap.Panes) != 2 || snap.Panes[0].ID != "%1" || snap.Panes[0].PID != 4711 || snap.Panes[1].Command != "x" {
			t.Fatalf("%+v", snap.Panes)
		}
		p := snap.Panes[0]
		if all := net(p.TTY, p.Session, p.Window, p.Title, p.Cwd, p.Command); p.TTY+p.Session+p.Window+p.Title+p.Cwd+p.Command != "" && len(all) > len(texts)+12 {
			t.Fatalf("%q was read from %q", all, texts)
		}
		// And any answer at all is read or refused, without a panic.
		if snap, err := parseList(mark+"\t99\t1\n"+record(id, texts)+tail, mark); err == nil {
			for _, p := range snap.Panes {
				if !ValidPane(p.ID) {
					t.Fatalf("pane id %q", p.ID)
				}
			}
		}
		_, _ = parseList(tail, mark)
		_, _ = parseClients(tail, mark)
	})
}

func FuzzSplitScreens(f *testing.F) {
	f.Add("a\nb", ".1\n.end", "")
	f.Add("", "\n", mark+".1\n")
	f.Fuzz(func(t *testing.T, one, two, raw string) {
		_, _ = splitScreens(raw, []string{"%1", "%2"}, mark)
		if strings.Contains(one+"\n"+two, mark) {
			t.Skip() // nobody knows the nonce: such a screen can't be
		}
		out := mark + ".0\n" + one + "\n" + mark + ".1\n" + two + "\n" + mark + ".end\n"
		got, err := splitScreens(out, []string{"%1", "%2"}, mark)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]Screen{"%1": {strings.Split(one, "\n")}, "%2": {strings.Split(two, "\n")}}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

func TestParseClients(t *testing.T) {
	got, err := parseClients(mark+"\t5\t0\t$1\t%2\t/dev/pts/3\n"+mark+"\t6\t1\t$2\t%3\tclient-\t\n7\n", mark)
	want := []Client{{Name: "/dev/pts/3", Session: "$1", Pane: "%2", Activity: 5}, {Name: "client-\t\n7", Session: "$2", Pane: "%3", Activity: 6, Control: true}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	for _, bad := range []string{"x\n", mark + "\tx\t0\t$1\t%2\tname\n", mark + "\t5\t0\n"} {
		if got, err := parseClients(bad, mark); err == nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
}

func TestStaleBuffers(t *testing.T) {
	c := &conn{pasting: map[string]int{}}
	now := time.Unix(10_000, 0)
	c.holdBuffer("madohub-running", 1)
	c.holdBuffer("madohub-twice", 2)
	c.holdBuffer("madohub-twice", -1)
	c.holdBuffer("madohub-done", 1)
	c.holdBuffer("madohub-done", -1)
	out := "9000\tmadohub-old\n9990\tmadohub-fresh\n9000\tusers\n9000\tmadohub-running\n9000\tmadohub-twice\n9000\tmadohub-done\n" +
		"9000\tmadohub-x ; kill-server\n20000\tmadohub-future\nx\tmadohub-broken\n9000\n\n"
	if d := cmp.Diff([]string{"madohub-old", "madohub-done"}, c.staleBuffers(out, now)); d != "" {
		t.Error(d)
	}
}

// What a killed delivery leaves is swept once it is old, and nothing else.
func TestSweepDeletesOldBuffers(t *testing.T) {
	socket := "madotest-sweep-" + strconv.Itoa(os.Getpid())
	run := func(args ...string) string {
		out, err := exec.Command("tmux", append([]string{"-L", socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("tmux %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("new-session", "-d", "exec cat")
	path := run("display-message", "-p", "#{socket_path}")
	t.Cleanup(func() { run("kill-server"); os.Remove(path) })
	run("set-buffer", "-b", "madohub-1", "x")
	run("set-buffer", "-b", "madohub-2", "x")
	run("set-buffer", "-b", "mine", "x")
	opened, err := Open(Options{Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	c := opened.(*conn)
	c.holdBuffer("madohub-2", 1)
	if err := c.sweep(t.Context(), time.Now().Add(sweepAge+time.Minute)); err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(run("list-buffers", "-F", "#{buffer_name}"))
	if len(got) != 2 || strings.Contains(strings.Join(got, " "), "madohub-1") {
		t.Errorf("buffers left: %q", got)
	}
}

func TestParseVersion(t *testing.T) {
	old := []string{"tmux 2.9a", "tmux 3.1c", "tmux 1.8"}
	fine := []string{"tmux 3.2", "tmux 3.2a", "tmux 3.3a\n", "tmux next-3.6", "tmux 3.5-rc", "tmux 3.4-rc2", "tmux 4.0", "tmux master", "tmux openbsd-7.5"}
	for _, text := range append(old, fine...) {
		v, err := parseVersion(text)
		if err != nil {
			t.Error(err)
		}
		if got, want := v.before(minVersion), slices.Contains(old, text); got != want {
			t.Errorf("%q is too old: %v, want %v", text, got, want)
		}
		if !strings.Contains(text, v.String()) {
			t.Errorf("%q is called %q", text, v)
		}
	}
	for _, text := range []string{"", "tmux", "tmux x.y", "3.3a", "tmux 3", "bash: tmux: not found"} {
		if v, err := parseVersion(text); err == nil {
			t.Errorf("%q was read as %v", text, v)
		}
	}
}

func TestClientEnv(t *testing.T) {
	for name, test := range map[string]struct{ in, want []string }{
		"empty":   {nil, []string{}},
		"C":       {[]string{"LC_ALL=C", "LANG=C", "PATH=/bin"}, []string{"PATH=/bin", "LANG=C"}},
		"own utf": {[]string{"LC_ALL=de_DE.UTF-8", "LC_CTYPE=C"}, []string{"LC_CTYPE=de_DE.UTF-8"}},
		"utf8":    {[]string{"LC_ALL=C", "LC_CTYPE=de_DE.utf8"}, []string{"LC_CTYPE=de_DE.utf8"}},
		"in tmux": {[]string{"TMUX=/x,1,0", "TMUX_PANE=%1", "TMUX_TMPDIR=/t", "ANTHROPIC_API_KEY=secret", "HOME=/h"}, []string{"HOME=/h", "TMUX_TMPDIR=/t"}},
		"last":    {[]string{"HOME=/a", "HOME=/b"}, []string{"HOME=/b"}},
	} {
		if d := cmp.Diff(test.want, clientEnv(test.in)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestFailureWordings(t *testing.T) {
	c := &conn{socket: "x"}
	for text, none := range map[string]bool{
		"no server running on /tmp/tmux-0/x": true, "error connecting to /tmp/x (No such file or directory)": true,
		"error connecting to /tmp/x (Connection refused)": true, "error connecting to /tmp/x (Permission denied)": true,
		"server exited unexpectedly": false, "access not allowed": false, "can't find pane: %9": false,
		"protocol version mismatch (client 8, server 7)": false, "": false,
	} {
		err := c.failure("list", answer{code: 1, stderr: []byte(text + "\n")})
		if errors.Is(err, ErrNoServer) != none || !strings.Contains(err.Error(), text) {
			t.Errorf("%q became %v", text, err)
		}
	}
	if err := c.failure("list", answer{code: 1, stderr: []byte("a\x1b[2Jb\nmore")}); strings.Contains(err.Error(), "\x1b") {
		t.Errorf("%q", err)
	}
}

// An answer without end is refused instead of kept, and a client that is killed does not keep its pipe's reader waiting.
func TestRunIsBounded(t *testing.T) {
	c := &conn{binary: "/bin/sh", timeout: 10 * time.Second}
	if _, err := c.run(t.Context(), "flood", nil, "-c", "exec cat /dev/zero"); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("endless output: %v", err)
	}
	a, err := c.run(t.Context(), "complain", nil, "-c", "head -c 100000 /dev/zero >&2; exit 3")
	if err != nil || a.code != 3 || len(a.stderr) != maxStderr {
		t.Errorf("long complaint: code %d, %d bytes, %v", a.code, len(a.stderr), err)
	}
	c.timeout = 100 * time.Millisecond
	began := time.Now()
	if _, err := c.run(t.Context(), "hang", nil, "-c", "sleep 5 & wait"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("hanging client: %v", err)
	}
	if d := time.Since(began); d > 20*time.Second {
		t.Errorf("waited %v for a killed client", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.run(ctx, "cancelled", nil, "-c", "exit 0"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled call: %v", err)
	}
}
