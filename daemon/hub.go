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

// Expect registers a wait before the turn can end; whoever asked calls Forget in the end.
func (h *hub) Expect(name string, match func(agent.Turn) bool) *waiter {
	w := &waiter{agent: name, match: match, turn: make(chan agent.Turn, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiters[w] = struct{}{}
	return w
}

// Forget ends a wait, whether or not its turn came.
func (h *hub) Forget(w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.waiters, w)
}

// Await returns the turn, or ctx's error.
func (w *waiter) Await(ctx context.Context) (agent.Turn, error) {
	select {
	case t := <-w.turn:
		return t, nil
	case <-ctx.Done():
		return agent.Turn{}, ctx.Err()
	}
}
