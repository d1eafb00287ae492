package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/madohub/madohub/session/proc"
	"github.com/madohub/madohub/session/screen"
	"github.com/madohub/madohub/tmux"
)

// watch looks at one tmux server again and again until ctx ends. A server that is not there is asked again at each tick:
// that costs one process start, and nothing is ever started by it.
func (s *Sessions) watch(ctx context.Context, srv *server) error {
	tick := time.NewTicker(srv.poll)
	defer tick.Stop()
	for {
		s.tick(ctx, srv)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// tick looks at all agents of a server: one list, and at most one capture for all whose state only the screen can tell.
func (s *Sessions) tick(ctx context.Context, srv *server) {
	var agents []*tracked
	for _, t := range s.all() {
		if s.serverOf(t.spec) == srv {
			agents = append(agents, t)
		}
	}
	snap, err := srv.conn.List(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.lost(srv, agents, err)
		return
	}
	srv.state.Store(&ServerState{Socket: srv.conn.Socket(), Identity: snap.Server, Panes: len(snap.Panes)})
	now := time.Now()
	tab := proc.NewTable(s.procs)
	taken := map[string]string{}
	looks := make([]look, len(agents))
	for i, t := range agents {
		t.mu.Lock()
		looks[i] = s.lookAt(t, &t.seat, snap, tab, taken, now)
		t.mu.Unlock()
		if looks[i].live {
			taken[looks[i].view.Pane.ID] = t.spec.Name
		}
	}
	s.capture(ctx, srv, snap, agents, looks)
	for i, t := range agents {
		looks[i].judge(now, t.screen.Screen, t)
		s.follow(ctx, srv, t, &looks[i], now)
	}
}

// lost notes that a server does not answer.
func (s *Sessions) lost(srv *server, agents []*tracked, err error) {
	why := err.Error()
	if errors.Is(err, tmux.ErrNoServer) {
		why = fmt.Sprintf("no tmux server at %s", srv.conn.Socket())
	}
	if old := srv.state.Swap(&ServerState{Socket: srv.conn.Socket(), Error: why}); old.Error == "" {
		s.log.Warn("tmux server lost", zap.String("socket", srv.conn.Socket()), zap.Error(err))
	}
	for _, t := range agents {
		s.publish(t, unreachable(t, why), time.Now())
	}
}

// capture reads the screens that are needed and may have changed.
func (s *Sessions) capture(ctx context.Context, srv *server, snap tmux.Snapshot, agents []*tracked, looks []look) {
	var ids []string
	for i, t := range agents {
		if !looks[i].needsScreen() {
			t.screen = screen.Last{}
			continue
		}
		if p := looks[i].view.Pane; t.screen.Stale(p, snap.Taken) {
			t.screen = screen.Last{}
			ids = append(ids, p.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	screens, err := srv.conn.Capture(ctx, ids, tmux.CaptureOptions{})
	if err != nil {
		s.log.Debug("capture", zap.String("socket", srv.conn.Socket()), zap.Error(err))
		return
	}
	for i, t := range agents {
		p := looks[i].view.Pane
		if sc, ok := screens[p.ID]; ok && looks[i].needsScreen() && t.screen.Screen == nil {
			t.screen = screen.Last{Pane: p, Taken: snap.Taken, Screen: screen.Of(p, sc.Lines)}
		}
	}
}

// follow tells what has happened to an agent since the last tick and publishes its view.
func (s *Sessions) follow(ctx context.Context, srv *server, t *tracked, l *look, now time.Time) {
	var events []Event
	if l.live {
		if l.view.Shell {
			events = s.followShell(ctx, srv, t, l, now)
		} else {
			events = s.followTurns(t, l, now)
		}
	}
	s.publish(t, l.view, now)
	for _, ev := range events {
		ev.Agent, ev.View = t.spec.Name, *t.view.Load()
		if ev.At.IsZero() {
			ev.At = now
		}
		s.log.Debug("event", zap.String("agent", ev.Agent), zap.Int("kind", int(ev.Kind)), zap.String("turn", ev.Turn.ID))
		s.emit(t, ev)
	}
	t.lastAt = now
}

// publish makes a view the present one, and says Changed if it says something new.
func (s *Sessions) publish(t *tracked, v View, now time.Time) {
	old := t.view.Load()
	v.Since = old.Since
	if v.State != old.State {
		v.Since = now
	}
	t.mu.Lock()
	if now.Sub(t.boxAt) < boxLasts {
		v.Box = t.box
	}
	t.mu.Unlock()
	t.view.Store(&v)
	if v.State == old.State && v.SessionID == old.SessionID && v.Hold == old.Hold && v.Problem == old.Problem &&
		v.Process.PID == old.Process.PID && v.Pane.ID == old.Pane.ID && v.Evidence == old.Evidence {
		return
	}
	s.log.Debug("state", zap.String("agent", v.Agent), zap.String("state", string(v.State)), zap.String("evidence", v.Evidence))
	s.emit(t, Event{Kind: Changed, Agent: t.spec.Name, At: now, View: v})
}

// emit queues an event, unless a reload has taken the agent out.
func (s *Sessions) emit(t *tracked, ev Event) {
	if s.tracked(t.spec.Name) == t {
		s.events.Put(ev)
	}
}
