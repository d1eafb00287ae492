package session

import (
	"errors"
	"fmt"
	"slices"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session/proc"
	"github.com/madohub/madohub/session/records"
	"github.com/madohub/madohub/tmux"
)

// seat is where an agent was last found. It is a value: Look works on a copy and leaves the watcher's alone.
type seat struct {
	first   tmux.Identity // for a "%7" target: the server in which that pane was first found; ids begin again in the next
	server  tmux.Identity
	lost    bool   // it was in a pane of an earlier server and was not found since
	pane    string // the pane in which the agent was, "" if it never was in one
	panePID int
	kind    agent.Kind
	process agent.Process
	records records.State
}

// place finds an agent's pane and its process in it, and fills the view with what that alone says. True if there is a
// live agent. A configured name or index is resolved until an agent is found there; from then on the pane is followed by
// its id through moves and renames, until the pane or the agent has ended: then the name is resolved again. taken
// are the panes of agents that stand before this one in the configuration.
func (st *seat) place(spec Spec, snap tmux.Snapshot, tab *proc.Table, taken map[string]string, v *View) bool {
	if st.server != snap.Server {
		*st = seat{first: st.first, lost: st.lost || st.pane != "", server: snap.Server}
	}
	v.Server = snap.Server
	ended := ""
	if st.pane != "" {
		if ended = st.follow(spec, snap, tab, taken, v); ended == "" {
			return v.Process.PID != 0
		}
	}
	list, err := candidates(spec, snap, st.first)
	if tmux.ValidPane(spec.Target) && len(list) > 0 && st.first == (tmux.Identity{}) {
		st.first = snap.Server
	}
	found := st.choose(spec, list, tab, taken, v)
	switch {
	case tab.Err != nil:
		v.State, v.Problem, v.Evidence = record.StateUnknown, tab.Err.Error(), "processes can't be read"
	case found:
		return true
	case ended != "":
		v.State, v.Gone, v.Evidence, v.Problem = record.StateGone, true, ended, ended
		v.Cwd = st.records.Session.Cwd // its last turn may still be waited for
		v.Pane, _ = snap.Pane(st.pane)
	case err != nil:
		v.State, v.Problem, v.Evidence = record.StateGone, err.Error(), "no pane matches"
		if st.lost || !errors.Is(err, tmux.ErrNoPane) { // a restarted server may get the pane back
			v.State = record.StateUnknown
		}
	case len(list) == 1 && list[0].Dead:
		v.State, v.Gone, v.Evidence = record.StateGone, true, v.Problem
	default:
		v.State, v.Evidence = record.StateUnknown, v.Problem
	}
	return false
}

// follow looks at the pane in which the agent was. It returns how it has ended, or "" with what is there in the view.
func (st *seat) follow(spec Spec, snap tmux.Snapshot, tab *proc.Table, taken map[string]string, v *View) string {
	p, ok := snap.Pane(st.pane)
	switch {
	case !ok:
		return fmt.Sprintf("pane %s is gone", st.pane)
	case p.Dead:
		return fmt.Sprintf("pane %s is dead", st.pane)
	}
	kind, process, why := st.occupant(spec, p, tab, taken)
	if why == "" {
		v.Pane = p
		st.sit(kind, process, p, v)
		return ""
	}
	if _, lives := tab.Same(st.process); !lives && tab.Err == nil {
		return fmt.Sprintf("%s (pid %d) has ended", st.kind.Name, st.process.PID)
	}
	v.Pane, v.State, v.Problem, v.Evidence = p, record.StateUnknown, why, why
	if tab.Err != nil {
		v.Problem, v.Evidence = tab.Err.Error(), "processes can't be read"
	}
	return ""
}

// choose takes the one pane that has an agent. Of several panes none is guessed.
func (st *seat) choose(spec Spec, list []tmux.Pane, tab *proc.Table, taken map[string]string, v *View) bool {
	type fit struct {
		pane    tmux.Pane
		kind    agent.Kind
		process agent.Process
	}
	var fits []fit
	var problem string
	for _, p := range list {
		kind, process, why := st.occupant(spec, p, tab, taken)
		if problem = why; why == "" {
			fits = append(fits, fit{p, kind, process})
		}
	}
	switch {
	case len(fits) == 1 && (len(list) == 1 || !fits[0].kind.Explicit):
		v.Pane = fits[0].pane
		st.sit(fits[0].kind, fits[0].process, fits[0].pane, v)
		return true
	case len(list) == 1:
		v.Pane, v.Problem = list[0], problem
	case len(fits) == 0:
		v.Problem = fmt.Sprintf("%d panes match, no agent in any", len(list))
	default:
		v.Problem = fmt.Sprintf("%d panes match, %d with an agent: name one of them", len(list), len(fits))
	}
	return false
}

func (st *seat) sit(kind agent.Kind, process agent.Process, p tmux.Pane, v *View) {
	if st.process.PID != process.PID || st.process.Start != process.Start {
		st.records = records.State{}
	}
	st.pane, st.panePID, st.kind, st.process, st.lost = p.ID, p.PID, kind, process, false
	v.Kind, v.Process, v.Cwd, v.Shell = kind.Name, process, p.Cwd, kind.Explicit
}

// occupant is the agent in a pane, or why there is none that the Spec allows.
func (st *seat) occupant(spec Spec, p tmux.Pane, tab *proc.Table, taken map[string]string) (agent.Kind, agent.Process, string) {
	none := func(format string, a ...any) (agent.Kind, agent.Process, string) {
		return agent.Kind{}, agent.Process{}, fmt.Sprintf(format, a...)
	}
	if p.Dead {
		return none("pane %s is dead", p.ID)
	}
	if other := taken[p.ID]; other != "" {
		return none("pane %s is agent %q already", p.ID, other)
	}
	// A shell is the pane's own process: what runs below it, an agent included, makes it busy and not another kind.
	if kind, ok := agent.Get(spec.Kind); ok && kind.Explicit {
		switch process, ok := tab.Get(p.PID); {
		case !ok || process.State == 'Z':
			return none("no process in pane")
		case !slices.Contains(kind.Comms, process.Comm):
			return none("pane runs %q, which is no known shell", process.Comm)
		default:
			return kind, process, ""
		}
	}
	if old := st.process; st.pane == p.ID && st.panePID == p.PID {
		now, ok := tab.Same(old)
		if ok && proc.Foreground(now) && !proc.Stopped(now) && now.PPID == old.PPID && now.Comm == old.Comm {
			return st.kind, now, ""
		}
	}
	kind, process, ok := agent.Recognise(tab.Tree(p.PID))
	switch {
	case !ok:
		return none("no agent in pane")
	case spec.Kind != "" && spec.Kind != "auto" && spec.Kind != kind.Name:
		return none("pane runs %s, configured is %s", kind.Name, spec.Kind)
	}
	return kind, process, ""
}

// candidates are the panes that a Spec means.
func candidates(spec Spec, snap tmux.Snapshot, first tmux.Identity) ([]tmux.Pane, error) {
	if tmux.ValidPane(spec.Target) && first != (tmux.Identity{}) && first != snap.Server {
		return nil, fmt.Errorf("pane %s was in tmux server %d, which has ended; name the new pane", spec.Target, first.PID)
	}
	if spec.Target != "" {
		return tmux.Resolve(snap, spec.Target)
	}
	return tmux.ResolveMatch(snap, spec.Match)
}
