package session

import (
	"fmt"
	"strings"
	"time"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session/proc"
	"github.com/madohub/madohub/session/records"
	"github.com/madohub/madohub/session/screen"
	"github.com/madohub/madohub/tmux"
)

// idleHold is how long a record must have said idle: between a turn and a queued prompt Claude Code 2.1.332 says idle
// for 10–30 ms (2026-11-30).
const idleHold = 300 * time.Millisecond

// look is what list, processes and records say of an agent in one moment. The screen is added where it is needed.
type look struct {
	view    View
	seat    seat
	live    bool          // its process is in the pane
	reading agent.Reading // of the screen, by judge; zero if no screen was given
}

// lookAt finds an agent and reads its records. st is changed: the watcher passes its own, Look a copy.
func (s *Sessions) lookAt(t *tracked, st *seat, snap tmux.Snapshot, tab *proc.Table, taken map[string]string, now time.Time) look {
	v := View{Agent: t.spec.Name, Socket: t.view.Load().Socket}
	live := st.place(t.spec, snap, tab, taken, &v)
	if live {
		s.readRecords(st, tab, now, &v)
	}
	return look{view: v, seat: *st, live: live}
}

// readRecords reads the records of the agent in a seat.
func (s *Sessions) readRecords(st *seat, tab *proc.Table, now time.Time, v *View) {
	r := &st.records
	r.Read(records.Place{Process: st.process, Records: st.kind.Records, Cwd: v.Pane.Cwd, Home: s.home}, tab, now)
	v.SessionID, v.Version, v.Transcript = r.Session.ID, r.Session.Version, r.Transcript
	if r.Session.Cwd != "" {
		v.Cwd = r.Session.Cwd
	}
}

// needsScreen reports whether only the screen can tell the state.
func (l *look) needsScreen() bool {
	return l.live && l.seat.kind.Screen != nil && (l.seat.kind.Explicit || !l.recorded())
}

// recorded reports whether the agent's own record says what it is doing.
func (l *look) recorded() bool { return l.seat.records.Session.ID != "" }

// judge settles the state by the strongest evidence that speaks: process, session record, screen, pattern.
func (l *look) judge(now time.Time, sc *agent.Screen, t *tracked) {
	v := &l.view
	if l.live {
		l.reading = l.read(sc, t)
	}
	switch {
	case !l.live:
	case v.Shell:
		l.judgeShell()
	case proc.Stopped(v.Process):
		v.State, v.Evidence = record.StateSuspended, fmt.Sprintf("suspended (stopped, %s in foreground)", v.Pane.Command)
	case !proc.Foreground(v.Process):
		v.State, v.Evidence = record.StateSuspended, fmt.Sprintf("suspended (%s in foreground)", v.Pane.Command)
	case l.seat.records.Twin != 0:
		v.State, v.Evidence = record.StateUnknown, "session record is not this pane's alone"
		v.Problem = fmt.Sprintf("process %d writes the same session: whose answer is whose can't be told", l.seat.records.Twin)
	case l.recorded():
		l.judgeRecord(now)
	default:
		l.judgeScreen(now)
	}
	v.Hold = hold(*v)
}

func (l *look) judgeRecord(now time.Time) {
	v, r := &l.view, &l.seat.records
	v.State = r.Session.State
	v.Evidence = fmt.Sprintf("session file: %s", v.State)
	switch {
	case v.State == "":
		v.State, v.Evidence = record.StateStarting, "session file: no status yet"
	case v.State == record.StateIdle && now.Sub(r.Session.Changed) < idleHold && now.Sub(r.StatusAt) < idleHold:
		v.State, v.Evidence = record.StateBusy, "session file: idle, but not yet for 300 ms"
	case r.Session.Waiting != "":
		v.Evidence = fmt.Sprintf("session file: waiting (%s)", r.Session.Waiting)
	}
}

// judgeScreen judges a kind that keeps no session record, or a process that has not written one.
func (l *look) judgeScreen(now time.Time) {
	v, r := &l.view, &l.seat.records
	v.State, v.Evidence = l.reading.State, "screen: "+l.reading.Rule
	if l.seat.kind.Records == nil || l.seat.kind.Records.SessionFile == nil {
		if v.State == "" {
			v.State, v.Evidence = record.StateUnknown, "screen says nothing"
		}
		return
	}
	// A kind with records is never called idle by its screen alone: a delivery could not be proved.
	if v.State == record.StateIdle && r.Transcript != "" {
		v.Evidence += "; transcript by directory"
		return
	}
	if v.State != "" && v.State != record.StateIdle {
		return
	}
	v.State, v.Evidence, v.Problem = record.StateUnknown, r.Why, r.Why
	if now.Sub(r.Without) < records.StartingFor {
		v.State, v.Problem = record.StateStarting, ""
	}
}

// judgeShell: a shell that is not in the foreground runs a command, whatever its screen shows.
func (l *look) judgeShell() {
	v := &l.view
	if !proc.Foreground(v.Process) || proc.Stopped(v.Process) {
		v.State, v.Evidence = record.StateBusy, fmt.Sprintf("%s in foreground", v.Pane.Command)
		return
	}
	v.State, v.Evidence = l.reading.State, "shell in foreground, screen: "+l.reading.Rule
	if v.State == "" {
		v.State, v.Evidence = record.StateUnknown, "shell in foreground, no prompt seen"
	}
}

// read asks the kind, and where it says nothing the configured pattern, on the last lines of the screen.
func (l *look) read(sc *agent.Screen, t *tracked) agent.Reading {
	if sc == nil || l.seat.kind.Screen == nil {
		return agent.Reading{}
	}
	reading := l.seat.kind.Screen(*sc)
	if reading.State == "" && l.view.Shell {
		reading = l.seat.kind.Screen(*screen.Unwrapped(sc))
	}
	if reading.State == "" && t.complete != nil {
		if tail := strings.TrimRight(strings.Join(sc.Lines, "\n"), " \n"); t.complete.MatchString(tail) {
			reading.State, reading.Rule = record.StateIdle, "complete_pattern"
		}
	}
	return reading
}

// hold is why no text may be typed now, the pane's own reasons first.
func hold(v View) record.Reason {
	if v.Pane.ID == "" || v.Process.PID == 0 {
		return record.StateIsUnknown
	}
	if why := HoldOfPane(v.Pane); why != "" {
		return why
	}
	if v.Problem != "" {
		return record.StateIsUnknown
	}
	return HoldOfState(v.State)
}

// HoldOfPane is why no text may be typed into a pane whatever runs in it; "" if it may.
func HoldOfPane(p tmux.Pane) record.Reason {
	switch {
	case p.Mode > 0:
		return record.CopyMode
	case p.InputOff:
		return record.InputOff
	case p.Synchronized:
		return record.Synchronized
	}
	return ""
}

// HoldOfState is why no text may be typed while an agent is in a state; "" if it may.
func HoldOfState(s record.State) record.Reason {
	switch s {
	case record.StateIdle:
		return ""
	case record.StateSuspended:
		return record.Suspended
	case record.StateDialog:
		return record.TargetDialog
	case record.StateStarting:
		return record.TargetStarting
	case record.StateBusy:
		return record.TargetBusy
	case record.StateLimited:
		return record.TargetLimited
	}
	return record.StateIsUnknown
}

// unreachable is the view of every agent of a server that does not answer: not gone, not known.
func unreachable(t *tracked, why string) View {
	return View{
		Agent: t.spec.Name, Socket: t.view.Load().Socket, State: record.StateUnknown, Evidence: why, Problem: why,
		Hold: record.ServerUnreachable,
	}
}
