//go:build linux

package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/agent"
)

func TestParseStat(t *testing.T) {
	tail := " S 10 20 30 34816 40 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 1\n"
	want := agent.Process{PID: 7, PPID: 10, PGRP: 20, TPGID: 40, State: 'S', Start: 12345}
	for _, comm := range []string{"bash", "node (work) x", "a) S 77 1 1 (", "", "new\nline", "日本", ") ("} {
		want.Comm = comm
		got, ok := parseStat([]byte("7 (" + comm + ")" + tail))
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%q: %t (-want +got):\n%s", comm, ok, diff)
		}
	}
	for _, bad := range []string{"", "7", "7 (x", "7 (x) S 1", "x (y)" + tail, ") ("} {
		if got, ok := parseStat([]byte(bad)); ok {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (a) b) S 10 20 30 34816 40 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := parseStat(b); ok && p.PID <= 0 {
			t.Errorf("pid %d", p.PID)
		}
	})
}

func TestReadsThisProcess(t *testing.T) {
	r := Reader{Root: "/proc"}
	p, ok, err := r.Stat(os.Getpid())
	if err != nil || !ok || p.PPID != os.Getppid() {
		t.Fatalf("Stat = %+v, %t, %v", p, ok, err)
	}
	if args := r.Args(p.PID); len(args) == 0 || args[0] != os.Args[0] {
		t.Errorf("args are %q", args)
	}
	if dir, _ := os.Getwd(); r.Cwd(p.PID) != dir {
		t.Errorf("cwd is %q", r.Cwd(p.PID))
	}
	if env, ok := r.Env(p.PID); !ok || env["PATH"] != os.Getenv("PATH") {
		t.Errorf("environment has PATH %q", env["PATH"])
	}
	if began, ok := r.Started(p); !ok || time.Since(began) > time.Hour || time.Since(began) < -time.Minute {
		t.Errorf("started at %s, %t", began, ok)
	}
	tab := NewTable(r)
	if tree := tab.Tree(os.Getppid()); len(tree) < 2 || tree[0].PID != os.Getppid() {
		t.Errorf("tree of the parent is %+v", tree)
	}
	if _, ok := tab.Same(p); !ok || tab.Err != nil {
		t.Errorf("this process is not the same, %v", tab.Err)
	}
	p.Start++
	if _, ok := tab.Same(p); ok {
		t.Error("a process with another start time is the same")
	}
	if _, ok, err := r.Stat(1 << 30); ok || err != nil {
		t.Errorf("a process that is not there: %t, %v", ok, err)
	}
}

func TestTreeIsBreadthFirstAndForegroundFirst(t *testing.T) {
	root := t.TempDir()
	put := func(pid, ppid, pgrp, tpgid, start int, state string) {
		dir := filepath.Join(root, fmt.Sprint(pid))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%d (p%d) %s %d %d 1 1 %d 4194304 1 2 3 4 5 6 7 8 20 0 1 0 %d 1 1\n", pid, pid, state, ppid, pgrp, tpgid, start)
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(1, 0, 1, 5, 1, "S")
	put(2, 1, 2, 5, 2, "T") // suspended, older
	put(3, 1, 3, 5, 3, "Z")
	put(5, 1, 5, 5, 5, "S") // in the foreground
	put(6, 2, 2, 5, 6, "T")
	put(7, 5, 5, 5, 7, "S")
	put(9, 9, 9, 9, 9, "S") // its own parent
	var got []int
	for _, p := range NewTable(Reader{Root: root}).Tree(1) {
		got = append(got, p.PID)
	}
	if diff := cmp.Diff([]int{1, 5, 2, 3, 7, 6}, got); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	if got := NewTable(Reader{Root: root}).Tree(9); len(got) != 1 {
		t.Errorf("tree of a process that is its own parent: %+v", got)
	}
	tab := NewTable(Reader{Root: filepath.Join(root, "nowhere")})
	if tab.Tree(1); tab.Err == nil {
		t.Error("no error without /proc")
	}
}

func TestLeft(t *testing.T) {
	root := t.TempDir()
	old := agent.Process{PID: 7, Comm: "claude", Start: 500}
	for _, c := range []struct{ name, stat, want string }{
		{"foreground", "S 1 30 30 34816 30", ""},
		{"stopped", "T 1 30 30 34816 30", "suspended"},
		{"background", "S 1 30 30 34816 31", "suspended"},
		{"zombie", "Z 1 30 30 34816 30", "ended"},
		{"gone", "", "ended"},
	} {
		dir := filepath.Join(root, "7")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		line := "7 (claude) " + c.stat + " 0 1 2 3 4 5 6 7 8 20 0 1 0 500 1 1\n"
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.stat == "" {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		if got := Left(Reader{Root: root}, old); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := Left(Reader{Root: root}, agent.Process{}); got != "" {
		t.Errorf("unknown process: %q", got)
	}
}
