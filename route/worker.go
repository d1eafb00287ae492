package route

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/mailbox"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/route/trigger"
)

const (
	retryDelay = 5 * time.Second // until a decision that the store refused (disk full) is tried again
	maxRefused = 16              // such decisions that one connection keeps; the oldest goes first
)

// worker waits and decides for one connection. Its goroutine is run; `fire` decides in the caller's.
type worker struct {
	e        *Engine
	name     string
	from     string
	box      *mailbox.Box[Event] // turns come at the pace of agents
	stop     chan struct{}
	deciding sync.Mutex // one decision of a connection at a time

	mu      sync.Mutex
	trig    trigger.Trigger  // mu
	ended   bool             // mu; stop is closed
	refused []trigger.Firing // mu; decisions that could not be written, oldest first
	retry   time.Time        // mu; when they are tried again
}

func newWorker(e *Engine, name, from string, t trigger.Trigger) *worker {
	return &worker{e: e, name: name, from: from, trig: t, box: mailbox.New(merged), stop: make(chan struct{})}
}

func (w *worker) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		for _, ev := range w.box.Take() {
			w.handle(ctx, ev)
		}
		w.fire(ctx)
		if due, ok := w.due(); ok {
			timer.Reset(time.Until(due))
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			return
		case <-w.stop:
			return
		case <-w.box.Woken():
		case <-timer.C:
		}
	}
}

// end stops the goroutine and returns the turn that waited, "" if none did.
func (w *worker) end() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.ended = true
		close(w.stop)
	}
	f, _ := w.trig.Take()
	return f.Key
}

func (w *worker) setDelay(d time.Duration) {
	w.mu.Lock()
	w.trig.SetDelay(d)
	w.mu.Unlock()
	w.box.Wake()
}

func (w *worker) due() (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due, ok := w.trig.Due()
	if len(w.refused) > 0 && (!ok || w.retry.Before(due)) {
		return w.retry, true
	}
	return due, ok
}

func (w *worker) waiting(now time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.refused) > 0 {
		return "waits: the routing log can't be written"
	}
	return w.trig.Waiting(now)
}

// take gives the waiting firing away if it is this turn: it is fired by hand instead.
func (w *worker) take(key string) (trigger.Firing, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if key == "" || w.trig.Pending() != key {
		return trigger.Firing{}, false
	}
	return w.trig.Take()
}

func (w *worker) handle(ctx context.Context, ev Event) {
	if ev.Kind == PromptTaken {
		w.e.human(ctx, w.name, ev)
		return
	}
	kinds := map[EventKind]trigger.Kind{
		AgentFound: trigger.Found, TurnOpened: trigger.Opened, TurnEnded: trigger.Ended, Activity: trigger.Activity,
	}
	kind, ok := kinds[ev.Kind]
	if !ok {
		return
	}
	key := turnKey(ev.Session, ev.Turn)
	c := w.e.inForce().rules[w.name] // before mu: Swap locks the engine first
	w.mu.Lock()
	out := w.trig.Event(trigger.Event{Kind: kind, At: ev.At, Key: key, Turn: ev.Turn, Evidence: ev.Evidence}, time.Now())
	pending := w.trig.Pending()
	if kind == trigger.Ended && c != nil && c.Stops(ev.Turn.Answer) {
		// A loop ends with the word, not with the silence after it: until then another turn could hide it.
		if f, ok := w.trig.Take(); ok {
			out = append(out, f)
		}
	}
	w.mu.Unlock()
	w.decide(ctx, out...)
	switch {
	case ev.Kind != AgentFound || (key != "" && key == pending):
	case key != "" && ev.Turn.Ended:
		w.baseline(ctx, ev, key)
	case ev.Session != "":
		w.newSession(ctx, ev.Session)
	}
}

// newSession notes a session in which no turn has ended yet, so that one that ends while nobody watches is known as missed.
func (w *worker) newSession(ctx context.Context, session string) {
	c, ok := w.e.inForce().rules[w.name]
	if !ok || !c.Enabled {
		return
	}
	err := w.e.update(ctx, w.name, func(c *record.Counter) bool {
		if strings.HasPrefix(c.LastTurn, session+"/") {
			return false
		}
		c.LastTurn = session + "/"
		return true
	})
	if err != nil {
		w.e.log.Error("note a new session", zap.String("connection", w.name), zap.Error(err))
	}
}

// baseline notes the turn that stands in a session when it is found. It fires nothing (T5). If an older turn of the same
// session was the last that we decided, others ended unseen: that is recorded, once.
func (w *worker) baseline(ctx context.Context, ev Event, key string) {
	rules := w.e.inForce()
	c, ok := rules.rules[w.name]
	if !ok || !c.Enabled {
		return
	}
	last := ""
	err := w.e.update(ctx, w.name, func(c *record.Counter) bool {
		last = c.LastTurn
		if last == key || missed(last, key) {
			return false
		}
		c.LastTurn = key
		return true
	})
	if err != nil {
		w.e.log.Error("note the base line", zap.String("connection", w.name), zap.Error(err))
		return
	}
	if last != key && missed(last, key) {
		w.decide(ctx, trigger.Firing{
			Key: key, Turn: ev.Turn, Skip: record.Missed, Evidence: ev.Evidence,
			Detail: fmt.Sprintf(`the turn ended while madohub was not watching; "madohubctl fire %s" sends its answer now`, w.name),
		})
	}
}

// missed reports whether turns ended between two keys unseen: they are different turns of one named session.
func missed(last, now string) bool {
	a, _, ok := strings.Cut(last, "/")
	b, _, _ := strings.Cut(now, "/")
	return ok && a != "" && a == b
}

// turnKey names a turn across sessions, "" if there is none. A turn without a session (a shell) has only its own time to
// tell it from an older one that was counted the same.
func turnKey(session string, t agent.Turn) string {
	if t.ID == "" && t.End.IsZero() {
		return ""
	}
	if session == "" {
		return fmt.Sprintf("/%s@%d", t.ID, t.End.UnixMilli())
	}
	return session + "/" + t.ID
}

// fire decides what is due.
func (w *worker) fire(ctx context.Context) {
	now := time.Now()
	w.mu.Lock()
	var out []trigger.Firing
	if len(w.refused) > 0 && !now.Before(w.retry) {
		out, w.refused = w.refused, nil
	}
	if f, ok := w.trig.Fire(now); ok {
		out = append(out, f)
	}
	w.mu.Unlock()
	w.decide(ctx, out...)
}

// decide takes firings to their records. What can't be written is tried again: a full disk must not lose an answer.
func (w *worker) decide(ctx context.Context, firings ...trigger.Firing) {
	w.deciding.Lock()
	defer w.deciding.Unlock()
	for _, f := range firings {
		if _, err := w.e.decide(ctx, w.name, f, ""); err != nil {
			w.e.log.Error("decide", zap.String("connection", w.name), zap.Error(err))
			w.mu.Lock()
			w.refused = append(w.refused, f)
			if over := len(w.refused) - maxRefused; over > 0 {
				w.refused = w.refused[over:]
			}
			w.retry = time.Now().Add(retryDelay)
			w.mu.Unlock()
		}
	}
}
