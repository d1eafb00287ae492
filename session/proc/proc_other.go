//go:build !linux

package proc

import (
	"time"

	ps "github.com/mitchellh/go-ps"

	"github.com/madohub/madohub/agent"
)

// Reader lists processes with go-ps, which knows only pid, parent and name: start time, state and foreground group are
// zero, and what depends on them is assumed (see Foreground, and records.State).
type Reader struct{ Root string }

func (p Reader) Stat(pid int) (agent.Process, bool, error) {
	proc, err := ps.FindProcess(pid)
	if err != nil || proc == nil {
		return agent.Process{}, false, err
	}
	return convert(proc), true, nil
}

func (p Reader) All() ([]agent.Process, error) {
	procs, err := ps.Processes()
	if err != nil {
		return nil, err
	}
	list := make([]agent.Process, 0, len(procs))
	for _, proc := range procs {
		list = append(list, convert(proc))
	}
	return list, nil
}

func convert(p ps.Process) agent.Process {
	return agent.Process{PID: p.Pid(), PPID: p.PPid(), Comm: p.Executable()}
}

func (p Reader) Args(int) []string                       { return nil }
func (p Reader) Env(int) (map[string]string, bool)       { return nil, false }
func (p Reader) Cwd(int) string                          { return "" }
func (p Reader) Started(agent.Process) (time.Time, bool) { return time.Time{}, false }
