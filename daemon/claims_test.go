package daemon

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/zap"

	"github.com/madohub/madohub/tmux"
)

// server is a tmux server as claims see it.
type server struct {
	tmux.Conn
	owner string
	err   error
	asked int
}

func (*server) Socket() string { return "s" }

func (s *server) Own(_ context.Context, owner string, _ func(string) bool) (string, error) {
	s.asked++
	if s.err != nil {
		return "", s.err
	}
	if s.owner == "" {
		s.owner = owner
	}
	return s.owner, nil
}

func TestARestartedServerIsClaimedAnew(t *testing.T) {
	s := &server{err: tmux.ErrNoServer}
	c := newClaims([]tmux.Conn{s}, "1.1", zap.NewNop())
	first, second, third := tmux.Identity{PID: 7, Start: 1}, tmux.Identity{PID: 8, Start: 2}, tmux.Identity{PID: 9, Start: 3}
	check := func(when string, run tmux.Identity, ours bool, other string) {
		t.Helper()
		gotOurs, gotOther := c.Held(t.Context(), "s", run)
		if gotOurs != ours || gotOther != other || c.Other("s") != other {
			t.Errorf("%s: ours %t, other %q (%q), want %t, %q", when, gotOurs, gotOther, c.Other("s"), ours, other)
		}
	}
	if err := c.atStart(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("no server", first, false, "")
	s.err = nil
	check("it turned up", first, true, "")
	asked := s.asked
	check("again", first, true, "")
	if s.asked != asked {
		t.Error("a server that is ours is claimed again before every delivery")
	}
	s.owner = "2.2" // restarted, and another daemon was quicker
	check("held by another daemon", second, false, "2.2")
	check("still", second, false, "2.2")
	s.owner = "" // restarted once more
	check("ours again", third, true, "")
	s.owner = "2.2"
	if _, err := c.claim(t.Context(), s, tmux.Identity{}); err != nil { // as every two seconds
		t.Fatal(err)
	}
	check("seen by the tick, before the pane is", third, false, "2.2")
	s.owner, s.err = "", tmux.ErrNoServer
	check("gone", first, false, "2.2")
}

func TestStartBesideALivingDaemonIsRefused(t *testing.T) {
	c := newClaims([]tmux.Conn{&server{owner: "4711.9"}}, "1.1", zap.NewNop())
	err := c.atStart(t.Context())
	if busy := (&BusyError{}); !errors.As(err, &busy) || busy.PID != 4711 {
		t.Errorf("got %v", err)
	}
}
