package route

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/config"
	"github.com/madohub/madohub/record"
)

// fakeStore keeps in memory what the real one keeps on disk; a second engine on it is a restart.
type fakeStore struct {
	mu       sync.Mutex
	records  map[string]record.Record
	order    []string // records, oldest first
	queue    []record.Item
	begun    map[string]bool
	counters map[string]record.Counter
	turns    map[string]bool
	ops      map[string]string
	typed    map[string][]string // by agent
	ours     func(string) bool   // answers Ours if set
	oursErr  error
	fail     error         // of every Decide
	skew     time.Duration // a wall clock that was set forward or back
}

func newStore() *fakeStore {
	return &fakeStore{
		records: map[string]record.Record{}, begun: map[string]bool{}, counters: map[string]record.Counter{},
		turns: map[string]bool{}, ops: map[string]string{}, typed: map[string][]string{},
	}
}

func (s *fakeStore) put(r record.Record) {
	if !record.Allowed(r.Outcome, r.Reason) {
		panic(fmt.Sprintf("record %s: %q may not carry the reason %q", r.ID, r.Outcome, r.Reason))
	}
	if _, known := s.records[r.ID]; !known {
		s.order = append(s.order, r.ID)
	}
	s.records[r.ID] = r
}

func (s *fakeStore) Decide(_ context.Context, d record.Decided) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := d.Record
	switch {
	case s.fail != nil:
		return false, s.fail
	case r.Origin == record.OriginTrigger && s.turns[r.Connection+" "+r.Turn]:
		return false, nil
	}
	if op := r.By + " " + d.Operation; d.Operation != "" {
		if old, ok := s.records[s.ops[op]]; ok {
			if old.To != r.To || old.SourceText != r.SourceText {
				return false, errors.New("conflict")
			}
			*r = old
			return false, nil
		}
		s.ops[op] = r.ID
	}
	if r.Turn != "" {
		s.turns[r.Connection+" "+r.Turn] = true
	}
	s.put(*r)
	if r.Connection != "" {
		c := s.counters[r.Connection]
		c.Connection, c.LastID, c.LastTurn = r.Connection, r.ID, cmp.Or(d.Turn, c.LastTurn)
		s.counters[r.Connection] = c
	}
	for name, by := range d.Disable {
		c := s.counters[name]
		c.Connection, c.DisabledBy = name, by
		s.counters[name] = c
	}
	if d.Item != nil {
		s.queue = append(s.queue, *d.Item)
	}
	if d.Replace != "" && !s.begun[d.Replace] {
		old := s.records[d.Replace]
		old.Outcome, old.Reason = record.Cancelled, record.Superseded
		s.finish(old)
	}
	return true, nil
}

func (s *fakeStore) finish(r record.Record) {
	s.put(r)
	s.queue = slices.DeleteFunc(s.queue, func(it record.Item) bool { return it.Record.ID == r.ID })
}

func (s *fakeStore) Counters(context.Context) (map[string]record.Counter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counters), nil
}

func (s *fakeStore) SetCounter(_ context.Context, c record.Counter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.counters[c.Connection]
	if c.Round != 0 {
		c.Round = now.Round
	}
	c.LastDelivery = now.LastDelivery
	s.counters[c.Connection] = c
	return nil
}

func (s *fakeStore) Waiting(_ context.Context, connection string) (record.Item, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range s.queue {
		if it.Record.Connection == connection && !s.begun[it.Record.ID] {
			return it, true, nil
		}
	}
	return record.Item{}, false, nil
}

func (s *fakeStore) Record(_ context.Context, id string) (record.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[id]
	if !ok {
		return r, errors.New("no such record")
	}
	return r, nil
}

func (s *fakeStore) QueueLen(_ context.Context, target string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, it := range s.queue {
		if it.Target == target {
			n++
		}
	}
	return n, nil
}

func (s *fakeStore) Ours(_ context.Context, agent, text string, _ time.Time) (bool, error) {
	s.mu.Lock()
	hook, typed, err := s.ours, slices.Contains(s.typed[agent], text), s.oursErr
	s.mu.Unlock()
	if hook != nil {
		return hook(text), err // it may be slow
	}
	return typed, err
}

// intend counts a round, as the real store does with the intent.
func (s *fakeStore) intend(r record.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun[r.ID] = true
	s.typed[r.To] = append(s.typed[r.To], r.Text)
	if r.Connection == "" {
		return
	}
	c := s.counters[r.Connection]
	c.Connection = r.Connection
	c.Round++
	c.LastDelivery = time.Now().Add(s.skew).Round(0)
	s.counters[r.Connection] = c
}

// fakeAgents are agents whose state a test sets.
type fakeAgents struct {
	mu     sync.Mutex
	agents map[string]Agent
	turns  map[string]agent.Turn
	output func(ctx context.Context, name string) ([]string, error)
}

func (a *fakeAgents) Agent(name string) (Agent, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ag, ok := a.agents[name]
	return ag, ok
}

func (a *fakeAgents) Output(ctx context.Context, name string) ([]string, error) {
	return a.output(ctx, name)
}

func (a *fakeAgents) LastTurn(name string) (agent.Turn, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, ok := a.turns[name]
	return t, ok
}

func (a *fakeAgents) lose(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.agents, name)
}

func (a *fakeAgents) setTurn(name string, t agent.Turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turns[name] = t
}

func (a *fakeAgents) set(ag Agent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.agents[ag.Name] = ag
}

// delivery is what a target got.
type delivery struct {
	connection, to, text string
	at                   time.Time
}

// fakeTyping delivers what Check lets go, once a second and when it is woken.
type fakeTyping struct {
	e     *Engine
	store *fakeStore

	mu   sync.Mutex
	busy map[string]bool       // mu; targets that take nothing now
	sent []delivery            // mu
	took func(r record.Record) // mu; told what a target took
	wake chan struct{}
}

func (d *fakeTyping) Wake(string) {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *fakeTyping) run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-d.wake:
		}
		for d.pass(ctx) {
		}
	}
}

// pass types at most one text.
func (d *fakeTyping) pass(ctx context.Context) bool {
	d.store.mu.Lock()
	items := slices.Clone(d.store.queue)
	d.store.mu.Unlock()
	for _, it := range items {
		r := it.Record
		v := d.e.Check(ctx, it, time.Now())
		r.Outcome, r.Reason, r.Detail = v.Outcome, v.Reason, v.Detail
		switch {
		case v.Outcome == "" && d.isBusy(it.Target):
			r.Outcome, r.Reason = record.Held, record.TargetBusy
			d.store.mu.Lock()
			d.store.put(r)
			d.store.mu.Unlock()
		case v.Outcome == record.Held:
			d.store.mu.Lock()
			d.store.put(r)
			d.store.mu.Unlock()
			if wait := time.Until(v.Retry); !v.Retry.IsZero() && wait < time.Second {
				time.AfterFunc(wait, func() { d.Wake(it.Target) })
			}
		case v.Outcome != "":
			d.store.mu.Lock()
			d.store.finish(r)
			d.store.mu.Unlock()
		default:
			d.store.intend(r)
			d.mu.Lock()
			d.sent = append(d.sent, delivery{r.Connection, r.To, r.Text, time.Now()})
			took := d.took
			d.mu.Unlock()
			if took != nil {
				took(r)
			}
			r.Outcome, r.Proof = record.Delivered, record.ProofTranscript
			d.store.mu.Lock()
			d.store.finish(r)
			d.store.mu.Unlock()
			return true
		}
	}
	return false
}

func (d *fakeTyping) isBusy(target string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.busy[target]
}

func (d *fakeTyping) setBusy(target string, busy bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy[target] = busy
}

func (d *fakeTyping) onTaken(f func(r record.Record)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.took = f
}

func (d *fakeTyping) texts() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, s := range d.sent {
		out = append(out, s.text)
	}
	return out
}

// house is an engine with everything around it.
type house struct {
	t      testing.TB
	e      *Engine
	store  *fakeStore
	agents *fakeAgents
	typing *fakeTyping
	stop   func()
	n      atomic.Int64 // turns so far
}

// pane is an agent in a configuration.
func pane(name string) config.Agent {
	return config.Agent{Name: name, Pane: name + ":0.0", Kind: "claude"}
}

func conn(name, from, to string) config.Connection {
	return config.Connection{
		Name: name, From: from, To: to, Trigger: "on-idle", Transform: "prompt-wrap", Template: "{output}",
		Enabled: true, Guard: config.Guard{MaxRounds: 5, Cooldown: 3 * time.Second, Rearm: "manual"},
	}
}

func cfg(connections ...config.Connection) *config.Config {
	return &config.Config{
		Dispatch: "madoagent", IdleDelay: 8 * time.Second, Agents: []config.Agent{pane("coder"), pane("reviewer"), pane("third")},
		Connections: connections,
		Limits:      config.Limits{MaxHops: 5, HoldFor: 30 * time.Minute, QueueDepth: 20, MaxText: 1000, TargetSpacing: 3 * time.Second},
	}
}

func rules(t testing.TB, c *config.Config) *Rules {
	t.Helper()
	r, err := Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// newHouse starts an engine on a store; call it in a synctest bubble.
func newHouse(t testing.TB, c *config.Config, store *fakeStore) *house {
	t.Helper()
	h := &house{t: t, store: store, agents: &fakeAgents{agents: map[string]Agent{}, turns: map[string]agent.Turn{}}}
	for _, a := range c.Agents {
		h.agents.agents[a.Name] = Agent{
			Name: a.Name, Kind: "claude", Cwd: "/src/" + a.Name, State: record.StateIdle,
			Evidence: "session file", SessionID: "s-" + a.Name, Pane: "1:1:%" + a.Name,
		}
	}
	h.typing = &fakeTyping{store: store, busy: map[string]bool{}, wake: make(chan struct{}, 1)}
	h.e = New(Options{Agents: h.agents, Store: store, Deliveries: h.typing})
	h.typing.e = h.e
	if err := h.e.Swap(rules(t, c)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := h.e.Run(ctx); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	running.Go(func() { h.typing.run(ctx) })
	h.stop = func() { cancel(); running.Wait() }
	return h
}

// settle lets everything that is due happen.
func (h *house) settle() { synctest.Wait() }

func (h *house) after(d time.Duration) {
	time.Sleep(d) // of the bubble: no real time passes
	synctest.Wait()
}

func (h *house) turn(id, answer string) agent.Turn {
	return agent.Turn{ID: id, Prompt: "do it", Human: true, Ended: true, End: time.Now().Round(0), Answer: answer}
}

func (h *house) event(kind EventKind, name string, t agent.Turn) {
	h.e.Handle(Event{Kind: kind, Agent: name, At: time.Now().Round(0), Turn: t, Evidence: "transcript"})
	synctest.Wait()
}

func (h *house) id() string { return fmt.Sprintf("t%d", h.n.Add(1)) }

// ended lets a turn of an agent end now.
func (h *house) ended(name, answer string) agent.Turn {
	t := h.turn(h.id(), answer)
	h.agents.setTurn(name, t)
	h.event(TurnEnded, name, t)
	return t
}

func (h *house) prompt(name, text string) {
	h.e.Handle(Event{Kind: PromptTaken, Agent: name, At: time.Now(), Prompt: agent.Prompt{Text: text, Time: time.Now()}})
	synctest.Wait()
}

// log lists outcome/reason of all records, oldest first.
func (h *house) log() []string {
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	var out []string
	for _, id := range h.store.order {
		r := h.store.records[id]
		s := string(r.Outcome)
		if r.Reason != "" {
			s += "/" + string(r.Reason)
		}
		if r.Connection != "" {
			s = r.Connection + " " + s
		}
		out = append(out, s)
	}
	return out
}

func (h *house) last() record.Record {
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	if len(h.store.order) == 0 {
		h.t.Fatal("no record")
	}
	return h.store.records[h.store.order[len(h.store.order)-1]]
}

func (h *house) counter(name string) record.Counter {
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	return h.store.counters[name]
}

func (h *house) wantLog(want ...string) {
	h.t.Helper()
	if got := h.log(); !slices.Equal(got, want) {
		h.t.Errorf("log:\n got %q\nwant %q", got, want)
	}
}

// bubble runs a test with fake time.
func bubble(t *testing.T, c *config.Config, f func(h *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, c, newStore())
		defer h.stop()
		h.settle()
		f(h)
	})
}

func promptOf(text string) agent.Prompt { return agent.Prompt{Text: text, Time: time.Now()} }
