package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/madohub/madohub/tmux"
)

// server is a private tmux server.
type server struct {
	socket string
	dir    string
	binary string
	pid    int
	path   string
}

// startServer starts a server with one pane that runs a command; files for it are made in dir.
func startServer(ctx context.Context, name, dir, command string) (*server, error) {
	binary, err := tmux.Find("", os.Environ())
	if err != nil {
		return nil, err
	}
	s := &server{socket: fmt.Sprintf("madotest-bench-%d-%s", os.Getpid(), name), dir: dir, binary: binary}
	out, err := s.tmux(ctx, "-f", "/dev/null", "new-session", "-d", "-x", "200", "-y", "50", "-P", "-F", "#{pid} #{socket_path}", command)
	if err != nil {
		return nil, err
	}
	pid, path, _ := strings.Cut(out, " ")
	s.path = path
	if s.pid, err = strconv.Atoi(pid); err != nil {
		return nil, fmt.Errorf("pid of the tmux server: %w", err)
	}
	return s, nil
}

func (s *server) tmux(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.binary, append([]string{"-u", "-L", s.socket}, args...)...)
	cmd.Env = append(os.Environ(), "TMUX=", "SHELL=/bin/sh")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return "", fmt.Errorf("tmux %s: %w", args[0], err)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// stop ends the server, also when ctx has ended.
func (s *server) stop(ctx context.Context) {
	_, _ = s.tmux(context.WithoutCancel(ctx), "kill-server")
	os.Remove(s.path)
}

// cpu is the time that this process, its ended children and the server have used.
func (s *server) cpu() (time.Duration, error) {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var use syscall.Rusage
		if err := syscall.Getrusage(who, &use); err != nil {
			return 0, fmt.Errorf("own cpu time: %w", err)
		}
		sum += time.Duration(use.Utime.Nano() + use.Stime.Nano())
	}
	// The server is one thread. schedstat counts nanoseconds where stat counts hundredths of a second.
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.pid), "schedstat"))
	if err == nil {
		field, _, _ := strings.Cut(string(data), " ")
		if ns, err := strconv.ParseInt(field, 10, 64); err == nil {
			return sum + time.Duration(ns), nil
		}
	}
	ticks, err := statTicks(s.pid)
	return sum + ticks, err
}

// statTicks reads utime and stime of a process, in hundredths of a second.
func statTicks(pid int) (time.Duration, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, fmt.Errorf("cpu time of the tmux server: %w", err)
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 13 {
		return 0, errors.New("cpu time of the tmux server: short stat")
	}
	utime, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("cpu time of the tmux server: %w", err)
	}
	stime, err := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(utime+stime) * 10 * time.Millisecond, err
}

// counted makes a tmux that counts how often it is run.
func (s *server) counted() (binary string, runs func() (int, error), err error) {
	log := filepath.Join(s.dir, "runs")
	binary = filepath.Join(s.dir, "counted-tmux")
	script := fmt.Sprintf("#!/bin/sh\necho run >>'%s'\nexec '%s' \"$@\"\n", log, s.binary)
	if err := os.WriteFile(binary, []byte(script), 0o700); err != nil {
		return "", nil, err
	}
	return binary, func() (int, error) {
		data, err := os.ReadFile(log)
		if errors.Is(err, os.ErrNotExist) {
			return 0, nil
		}
		return bytes.Count(data, []byte("\n")), err
	}, nil
}

// count tells how many processes a call on a Conn takes.
func (s *server) count(call func(tmux.Conn) error) (int, error) {
	binary, runs, err := s.counted()
	if err != nil {
		return 0, err
	}
	conn, err := tmux.Open(tmux.Options{Socket: s.socket, Binary: binary})
	if err != nil {
		return 0, err
	}
	before, err := runs()
	if err != nil {
		return 0, err
	}
	if err := call(conn); err != nil {
		return 0, err
	}
	after, err := runs()
	return after - before, err
}
