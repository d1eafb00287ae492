package route

import (
	"context"
	"sync"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/madohub/madohub/config"
	"github.com/madohub/madohub/route/guard"
	"github.com/madohub/madohub/route/trigger"
)

// Options are what an engine works with. Agents, Store and Deliveries are needed.
type Options struct {
	Agents     Agents
	Store      Store
	Deliveries Deliveries
	Log        *zap.Logger // nil: none
}

// Engine decides. One goroutine a connection waits and decides, so that a slow decision delays no other connection.
// New wires, Swap gives it rules, Run works.
type Engine struct {
	opt     Options
	log     *zap.Logger
	changed chan struct{} // takes one: Swap made workers that Run must start
	sending sync.Mutex    // one send at a time: the length of a queue is looked at and added to as one step
	setting sync.Mutex    // one change of counters at a time
	chains  guard.Chains
	pace    *guard.Pace

	mu      sync.Mutex
	rules   *Rules             // mu; what it points to is never changed
	workers map[string]*worker // mu; by connection
	fresh   []*worker          // mu; not started yet
}

// New makes an engine without rules: until Swap it does nothing.
func New(opt Options) *Engine {
	if opt.Log == nil {
		opt.Log = zap.NewNop()
	}
	return &Engine{
		opt: opt, log: opt.Log, rules: &Rules{cfg: &config.Config{}}, workers: map[string]*worker{},
		changed: make(chan struct{}, 1), pace: guard.NewPace(),
	}
}

// Run decides until ctx ends. A decision that was begun is finished.
func (e *Engine) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for {
		e.mu.Lock()
		fresh := e.fresh
		e.fresh = nil
		e.mu.Unlock()
		for _, w := range fresh {
			g.Go(func() error { w.run(ctx); return nil })
		}
		select {
		case <-ctx.Done():
			return g.Wait()
		case <-e.changed:
		}
	}
}

// Swap puts new rules in force. A connection that did not change keeps its waiting firing; of one that changed or was
// removed it is dropped. Counters belong to the name of a connection and stay. Queued texts are asked about again.
func (e *Engine) Swap(rules *Rules) error {
	e.mu.Lock()
	old := e.rules
	e.rules = rules
	for name, w := range e.workers {
		if c, ok := rules.rules[name]; ok && same(c, old.rules[name]) {
			w.setDelay(rules.cfg.IdleDelay)
			continue
		}
		if waits := w.end(); waits != "" {
			e.log.Info("waiting firing dropped by a reload", zap.String("connection", name), zap.String("turn", waits))
		}
		delete(e.workers, name)
	}
	var err error
	for _, name := range rules.order {
		if e.workers[name] != nil {
			continue
		}
		var t trigger.Trigger
		if t, err = trigger.New(rules.rules[name].Trigger, rules.cfg.IdleDelay); err != nil {
			break // not reached: Compile tried the same
		}
		w := newWorker(e, name, rules.rules[name].From, t)
		e.workers[name] = w
		e.fresh = append(e.fresh, w)
	}
	e.mu.Unlock()
	select {
	case e.changed <- struct{}{}:
	default:
	}
	for target := range targets(old, rules) {
		e.opt.Deliveries.Wake(target)
	}
	return err
}

// targets are all agents that old or new rules may type into.
func targets(all ...*Rules) map[string]bool {
	found := map[string]bool{}
	for _, r := range all {
		for _, c := range r.rules {
			found[c.To] = true
		}
	}
	return found
}

// Handle takes one event to the connections that it concerns. It does not wait for any decision.
func (e *Engine) Handle(ev Event) {
	if ev.Kind == PromptTaken && e.chains.Taken(ev.Agent, ev.Prompt.Text) {
		return // a delivery of ours
	}
	if ev.Session == "" {
		if a, ok := e.opt.Agents.Agent(ev.Agent); ok {
			ev.Session = a.SessionID
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, w := range e.workers {
		c := e.rules.rules[name]
		switch {
		case ev.Kind != PromptTaken && w.from == ev.Agent:
			w.box.Put(ev)
		case ev.Kind == PromptTaken && c != nil && c.Group[ev.Agent]:
			// Through the same box as the end of its turn: a loop is re-armed before that turn is decided on.
			w.box.Put(ev)
		}
	}
}

// inForce are the rules of this moment.
func (e *Engine) inForce() *Rules {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rules
}

func (e *Engine) worker(name string) *worker {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.workers[name]
}

// merged reports whether of two events that wait the second is enough: silence was broken, and once more.
func merged(last, next Event) bool { return last.Kind == Activity && next.Kind == Activity }
