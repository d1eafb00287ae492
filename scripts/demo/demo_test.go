package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDemo runs the demo as a stranger would, with a home that holds nothing and takes nothing, inside a tmux that is not
// to be touched; it must leave nothing behind.
func TestDemo(t *testing.T) {
	bin := build(t)
	home := filepath.Join(t.TempDir(), "home")
	if err := os.Mkdir(home, 0o500); err != nil {
		t.Fatal(err)
	}
	temp, err := os.MkdirTemp("/tmp", "mh-demo-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	out, err := demo(t, bin, home, temp)
	t.Log(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"it truly happened", "stop_keyword", "author    took 2 prompts", "reviewer  took 3 prompts"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	empty(t, temp)
	empty(t, home)
	if left := processes(t, temp); left != "" {
		t.Errorf("processes were left behind:\n%s", left)
	}
}

// TestDemoFails: a demo that can't show what it claims says so, keeps the logs, and leaves no process.
func TestDemoFails(t *testing.T) {
	bin := build(t)
	if err := os.WriteFile(filepath.Join(bin, "madohub"), []byte("#!/bin/sh\necho no daemon today >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	temp, err := os.MkdirTemp("/tmp", "mh-demo-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	out, err := demo(t, bin, t.TempDir(), temp)
	if err == nil {
		t.Fatalf("it claims success:\n%s", out)
	}
	for _, want := range []string{"FAILED", "no daemon today", "logs are kept in " + temp} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if left := processes(t, temp); left != "" {
		t.Errorf("processes were left behind:\n%s", left)
	}
}

func build(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	cmd := exec.Command("go", "build", "-o", bin, ".", "../scripted", "../../cmd/madohub", "../../cmd/madohubctl")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

func demo(t *testing.T, bin, home, temp string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "demo"), "--bin", bin)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + temp, "TMUX=/nonexistent/of-the-user,1,0", "TMUX_PANE=%0",
		"XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home,
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s was left in %s", e.Name(), dir)
	}
}

// processes lists the processes whose command line names a folder.
func processes(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("ps", "-eo", "pid,args").Output()
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, line := range strings.Split(string(out), "\n") {
		if strings.Contains(line, dir) {
			left = append(left, line)
		}
	}
	return strings.Join(left, "\n")
}
