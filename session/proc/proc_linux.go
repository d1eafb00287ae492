//go:build linux

package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/madohub/madohub/agent"
)

// maxProcFile bounds what is read of a process's environment or arguments.
const maxProcFile = 1 << 20

// clockTicks is USER_HZ, the unit of starttime; it is 100 on every Linux that Go runs on.
const clockTicks = 100

// Reader reads /proc by itself: go-ps takes a command name up to its first ")" and so loses or misreads processes.
type Reader struct{ Root string }

func (p Reader) path(pid int, name string) string {
	return filepath.Join(p.Root, strconv.Itoa(pid), name)
}

// Stat reads one process. A process that is not there is no error.
func (p Reader) Stat(pid int) (agent.Process, bool, error) {
	b, err := os.ReadFile(p.path(pid, "stat"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return agent.Process{}, false, nil
	}
	if err != nil {
		return agent.Process{}, false, err
	}
	proc, ok := parseStat(b)
	if !ok && len(b) > 0 {
		return agent.Process{}, false, fmt.Errorf("%s: %.60q can't be understood", p.path(pid, "stat"), b)
	}
	return proc, ok, nil
}

// parseStat reads /proc/PID/stat. The name stands between the first "(" and the last ")" and may hold anything.
func parseStat(b []byte) (agent.Process, bool) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return agent.Process{}, false
	}
	f := bytes.Fields(b[end+1:])
	if len(f) < 20 || len(f[0]) != 1 {
		return agent.Process{}, false
	}
	num := func(s []byte) int { n, _ := strconv.Atoi(string(s)); return n }
	start, err := strconv.ParseUint(string(f[19]), 10, 64)
	pid := num(bytes.TrimSpace(b[:open]))
	if err != nil || pid <= 0 {
		return agent.Process{}, false
	}
	return agent.Process{
		PID: pid, PPID: num(f[1]), PGRP: num(f[2]), TPGID: num(f[5]), State: f[0][0], Start: start,
		Comm: string(b[open+1 : end]),
	}, true
}

// All reads every process.
func (p Reader) All() ([]agent.Process, error) {
	d, err := os.Open(p.Root)
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	_ = d.Close()
	if err != nil {
		return nil, err
	}
	var list []agent.Process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		proc, ok, err := p.Stat(pid)
		if err != nil {
			return list, err
		}
		if ok {
			list = append(list, proc)
		}
	}
	return list, nil
}

// Args are the arguments of a process, nil if they can't be read.
func (p Reader) Args(pid int) []string {
	b := p.read(pid, "cmdline")
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// Env reads the environment that a process was started with; false if it can't be read.
func (p Reader) Env(pid int) (map[string]string, bool) {
	b := p.read(pid, "environ")
	if len(b) == 0 {
		return nil, false
	}
	vars := map[string]string{}
	for _, kv := range strings.Split(string(b), "\x00") {
		if k, v, ok := strings.Cut(kv, "="); ok {
			vars[k] = v
		}
	}
	return vars, true
}

func (p Reader) read(pid int, name string) []byte {
	f, err := os.Open(p.path(pid, name))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxProcFile))
	if err != nil {
		return nil
	}
	return b
}

// Cwd is the working directory of a process, "" if it can't be read.
func (p Reader) Cwd(pid int) string {
	dir, err := os.Readlink(p.path(pid, "cwd"))
	if err != nil {
		return ""
	}
	return dir
}

// Started is the wall-clock time at which a process began; false if it can't be told.
func (p Reader) Started(proc agent.Process) (time.Time, bool) {
	b, err := os.ReadFile(filepath.Join(p.Root, "stat"))
	if err != nil {
		return time.Time{}, false
	}
	_, rest, ok := strings.Cut(string(b), "btime ")
	if !ok {
		return time.Time{}, false
	}
	line, _, _ := strings.Cut(rest, "\n")
	boot, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	return time.Unix(boot, 0).Add(time.Duration(proc.Start) * time.Second / clockTicks), true
}
