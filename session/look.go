package session

import (
	"context"
	"fmt"
	"time"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session/proc"
	"github.com/madohub/madohub/session/screen"
	"github.com/madohub/madohub/tmux"
)

// boxLasts is how long the input box that Look saw is shown in the views of the ticks after it.
const boxLasts = 10 * time.Second

// Look inspects an agent afresh, also its screen and input box. Records and screen must both allow typing: a dialog is in
// the record 0.6 s before it is drawn (Claude Code 2.1.332), and menus and overlays are on the screen only. A server
// that can't be reached is no error: the view says so.
func (s *Sessions) Look(ctx context.Context, name string) (View, error) {
	t, srv, err := s.find(name)
	if err != nil {
		return View{}, err
	}
	snap, err := srv.conn.List(ctx)
	if ctx.Err() != nil {
		return View{}, fmt.Errorf("look at %q: %w", name, ctx.Err())
	}
	now := time.Now()
	if err != nil {
		return unreachable(t, err.Error()), nil
	}
	t.mu.Lock()
	st := t.seat
	t.mu.Unlock()
	st.records.Hurry()
	l := s.lookAt(t, &st, snap, proc.NewTable(s.procs), s.takenBefore(t, snap.Server), now)
	var sc *agent.Screen
	if l.live {
		if sc, err = screen.Styled(ctx, srv.conn, l.view.Pane); err != nil {
			l.view.Problem = err.Error()
		}
	}
	l.judge(now, sc, t)
	if l.live && sc != nil {
		l.lookCloser()
	}
	if l.view.Since = t.view.Load().Since; l.view.State != t.view.Load().State {
		l.view.Since = now
	}
	t.mu.Lock()
	t.box, t.boxAt = l.view.Box, now
	t.mu.Unlock()
	return l.view, nil
}

// Left says why the agent of a view can't read its terminal any more, "" if it can, as far as is known.
func (s *Sessions) Left(v View) string { return proc.Left(s.procs, v.Process) }

// lookCloser lets the screen object to what the records allow.
func (l *look) lookCloser() {
	v, reading := &l.view, l.reading
	v.Box = reading.Box
	switch {
	case v.State != record.StateIdle:
		return
	case reading.State != "" && reading.State != record.StateIdle:
		v.State, v.Evidence = reading.State, v.Evidence+"; screen: "+reading.Rule
	case reading.Box.Overlay:
		v.State, v.Evidence = record.StateDialog, v.Evidence+"; screen: something covers the input box"
	}
	if v.Hold = hold(*v); v.Hold == "" && (v.Box.Text != "" || v.Box.Pasted > 0 || v.Box.Above > 0) {
		v.Hold = record.TargetDraft
	}
}

// takenBefore are the panes of the agents that stand before one in the configuration, as the last tick saw them.
func (s *Sessions) takenBefore(t *tracked, id tmux.Identity) map[string]string {
	taken := map[string]string{}
	for _, other := range s.all() {
		if other == t {
			break
		}
		if v := other.view.Load(); v.Server == id && v.Process.PID != 0 {
			taken[v.Pane.ID] = v.Agent
		}
	}
	return taken
}

// Output are the newest logical lines of an agent's terminal, without input box and status area. The visible screen and
// 2,000 lines before it are looked at.
func (s *Sessions) Output(ctx context.Context, name string) ([]string, error) {
	t, srv, err := s.find(name)
	if err != nil {
		return nil, err
	}
	v := t.view.Load()
	if v.Process.PID == 0 {
		return nil, fmt.Errorf("output of %q: %s", name, v.Evidence)
	}
	lines, err := screen.Logical(ctx, srv.conn, v.Pane.ID)
	if err != nil {
		return nil, fmt.Errorf("output of %q: %w", name, err)
	}
	kind, ok := agent.Get(v.Kind)
	if !ok || kind.Output == nil {
		return lines, nil
	}
	sc := screen.Of(v.Pane, lines)
	sc.CursorY = max(0, len(lines)-1) // rows of joined lines are not those of the screen
	return kind.Output(*sc), nil
}

// find is the agent of a name and its server.
func (s *Sessions) find(name string) (*tracked, *server, error) {
	t := s.tracked(name)
	if t == nil {
		return nil, nil, fmt.Errorf("agent %q %w", name, ErrNotConfigured)
	}
	srv := s.serverOf(t.spec)
	if srv == nil {
		return nil, nil, fmt.Errorf("agent %q: no tmux server with the socket %q is configured", name, t.spec.Socket)
	}
	return t, srv, nil
}
