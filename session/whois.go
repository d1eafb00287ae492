package session

import (
	"fmt"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/session/proc"
)

// maxParents bounds a walk from a process to its ancestors.
const maxParents = 256

// WhoIs tells whether a process descends from an agent's process (A9, A10), and from which configured agent's. The first
// agent process on the way up decides: an agent inside an agent, or a server that several panes share, is nobody's. A
// shell is no agent here: a person types in it. An error means that it can't be told, as of a process that an agent
// started and that has outlived its parents (setsid, nohup and &): only its environment still says where it comes from.
func (s *Sessions) WhoIs(pid int) (name string, isAgent bool, err error) {
	known, servers, panes := map[int]View{}, map[int]bool{}, map[string]bool{}
	for _, v := range s.Views() {
		servers[v.Server.PID] = true
		if v.Process.PID != 0 && !v.Shell {
			known[v.Process.PID] = v
			panes[proc.PaneKey(v.Server.PID, v.Pane.ID)] = true
		}
	}
	var child agent.Process
	orphan := ""
	for range maxParents {
		p, ok, err := s.procs.Stat(pid)
		switch {
		case err != nil:
			return "", false, fmt.Errorf("read process %d: %w", pid, err)
		case !ok:
			return "", false, fmt.Errorf("process %d has ended", pid)
		case child.PID != 0 && p.Start > child.Start:
			// Its parent has ended and the number is another process's now.
			return "", false, fmt.Errorf("process %d is younger than its child %d", pid, child.PID)
		}
		if v, ok := known[pid]; ok && v.Process.Start == p.Start {
			return v.Agent, true, nil
		}
		if agent.IsAgentComm(p.Comm, s.procs.Args(pid)) {
			return "", true, nil
		}
		if env, ok := s.procs.Env(pid); ok && orphan == "" {
			orphan = proc.StartedBy(env, panes)
		}
		switch {
		case orphan != "" && p.PPID <= 1 && !servers[pid]:
			return "", false, fmt.Errorf("process %d was started by %s and has left it", pid, orphan)
		case p.PPID <= 1, servers[pid]: // a pane, and no agent in between
			return "", false, nil
		}
		child, pid = p, p.PPID
	}
	return "", false, fmt.Errorf("process %d has more than %d ancestors", child.PID, maxParents)
}
