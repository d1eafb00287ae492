package daemon

import (
	"context"
	"sync"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/session"
)

// hub hands ended turns to those who wait for an answer (`madohubctl send --wait`).
type hub struct {
	mu      sync.Mutex
	waiters map[*waiter]struct{} // mu
}

type waiter struct {
	agent string
	match func(agent.Turn) bool
	turn  chan agent.Turn // takes one
}

func newHub() *hub { return &hub{waiters: map[*waiter]struct{}{}} }

// See offers an event to the waiters.
func (h *hub) See(ev session.Event) {
	if ev.Kind != session.TurnEnded {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.waiters {
		if w.agent == ev.Agent && w.match(ev.Turn) {
			delete(h.waiters, w)
			w.turn <- ev.Turn
		}
	}
}

// Expect registers a wait before the turn can end; Await then waits for it.
func (h *hub) Expect(name string, match func(agent.Turn) bool) *waiter {
	w := &waiter{agent: name, match: match, turn: make(chan agent.Turn, 1)}
	h.mu.Lock()
	h.waiters[w] = struct{}{}
	h.mu.Unlock()
	return w
}

// Await returns the turn, or ctx's error.
func (h *hub) Await(ctx context.Context, w *waiter) (agent.Turn, error) {
	defer func() {
		h.mu.Lock()
		delete(h.waiters, w)
		h.mu.Unlock()
	}()
	select {
	case t := <-w.turn:
		return t, nil
	case <-ctx.Done():
		return agent.Turn{}, ctx.Err()
	}
}
