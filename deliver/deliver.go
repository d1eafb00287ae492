package deliver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/madohub/madohub/deliver/typist"
	"github.com/madohub/madohub/record"
)

// sweepEvery is how often held targets are asked again: a target that has become free without an event waits no longer.
const sweepEvery = time.Second

// Typing is how one agent is typed into.
type Typing = typist.Typing

// Limits bound what is typed and how long it waits.
type Limits struct {
	MaxText       int           // bytes; 0: any
	TargetSpacing time.Duration // least time between two deliveries to one target
	HoldFor       time.Duration // how long a text that a person put back waits
}

// Options are what Deliveries works with. Sessions, Store and Typing are needed.
type Options struct {
	Sessions Sessions
	Store    Store
	Policy   Policy                                   // nil: everything may go
	Typing   func(agent, kind string) (Typing, error) // asked at every attempt, so that a reload counts at once
	Limits   func() Limits                            // nil: none
	Log      *zap.Logger                              // nil: silent
}

// Deliveries owns the queue of texts: one worker per target that has something to deliver, never two at one pane.
type Deliveries struct {
	o    Options
	wake chan struct{} // a target was woken

	mu      sync.Mutex
	woken   map[string]bool    // targets to look at, by mu
	active  map[string]bool    // targets that have a worker, by mu
	targets map[string]*target // the map by mu, each target by its worker
	flights map[string]*flight // records that are being typed or settled, by mu
	panes   map[string]bool    // panes that are typed into, by mu
	watched map[string]*watch  // deliveries whose proof may still turn up, the map by mu, each by the watcher
	watches bool               // a watcher runs, by mu
}

// target is what a worker remembers of its target between two passes.
type target struct {
	unfinished []record.Unfinished // intents that a crash left; they come before the queue
	owed       []owed              // ends that could not be written
	parked     *parked
	typed      time.Time // when the last key was sent
	refused    int       // attempts in a row in which the pane changed under our hands
	notBefore  time.Time // after a refusal: no attempt before
}

// owed is the end of a delivery that the store did not take: nothing more is typed there until it has.
type owed struct {
	rec    *record.Record
	refund bool
}

// flight is the claim on a record.
type flight struct {
	done    chan struct{} // closed when the claim ends
	begun   bool          // an intent is on disk, by mu of Deliveries
	waiting bool          // typed, and waits for a safe moment to submit, by mu
	cancel  bool          // a person wants it to end, by mu
}

// New wires the queue. Nothing happens before Run.
func New(o Options) *Deliveries {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Limits == nil {
		o.Limits = func() Limits { return Limits{} }
	}
	if o.Policy == nil {
		o.Policy = open{}
	}
	return &Deliveries{
		o: o, wake: make(chan struct{}, 1),
		woken: map[string]bool{}, active: map[string]bool{}, targets: map[string]*target{},
		flights: map[string]*flight{}, panes: map[string]bool{}, watched: map[string]*watch{},
	}
}

// open is the policy that lets everything go.
type open struct{}

func (open) Check(context.Context, record.Item, time.Time) Verdict { return Verdict{} }

// Run settles what an earlier run left unfinished, then delivers until ctx ends. What was begun by then is finished or left
// on disk in a stage from which the next run settles it.
func (d *Deliveries) Run(ctx context.Context) error {
	unfinished, err := d.o.Store.Intents(ctx)
	if err != nil {
		return fmt.Errorf("read unfinished deliveries: %w", err)
	}
	d.adopt(unfinished)
	var workers errgroup.Group
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	d.sweep(ctx, &workers)
	for {
		select {
		case <-ctx.Done():
			return workers.Wait()
		case <-tick.C:
			d.sweep(ctx, &workers)
		case <-d.wake:
			d.startWoken(ctx, &workers)
		}
	}
}

// Wake tells that the queue of a target, or the target itself, has changed.
func (d *Deliveries) Wake(name string) {
	d.mu.Lock()
	d.woken[name] = true
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// adopt takes over the intents that a crash left.
func (d *Deliveries) adopt(list []record.Unfinished) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, u := range list {
		t := d.targetLocked(u.Item.Target)
		t.unfinished = append(t.unfinished, u)
		d.flights[u.Intent.ID] = &flight{done: make(chan struct{}), begun: true}
		d.woken[u.Item.Target] = true
	}
}

func (d *Deliveries) targetLocked(name string) *target {
	t := d.targets[name]
	if t == nil {
		t = &target{}
		d.targets[name] = t
	}
	return t
}

// sweep ends what waited too long and starts a worker for every target that has something to deliver.
func (d *Deliveries) sweep(ctx context.Context, workers *errgroup.Group) {
	items, err := d.o.Store.Queue(ctx)
	if err != nil {
		if ctx.Err() == nil {
			d.o.Log.Error("queue can't be read, nothing is typed", zap.Error(err))
		}
		return
	}
	now := time.Now()
	d.mu.Lock()
	for name, t := range d.targets {
		if !d.active[name] && len(t.unfinished)+len(t.owed) > 0 {
			d.woken[name] = true
		}
	}
	d.mu.Unlock()
	for _, it := range items {
		if !now.Before(it.Expires) {
			d.expire(ctx, it)
			continue
		}
		d.mu.Lock()
		d.woken[it.Target] = true
		d.mu.Unlock()
	}
	d.startWoken(ctx, workers)
	d.startWatcher(ctx, workers)
}

// startWoken gives every woken target a worker.
func (d *Deliveries) startWoken(ctx context.Context, workers *errgroup.Group) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name := range d.woken {
		if d.active[name] {
			continue // its worker sees that it was woken
		}
		delete(d.woken, name)
		d.active[name] = true
		t := d.targetLocked(name)
		workers.Go(func() error {
			d.work(ctx, name, t)
			return nil
		})
	}
}

// work makes passes over a target's queue until there is nothing that can be done now.
func (d *Deliveries) work(ctx context.Context, name string, t *target) {
	for {
		again := d.pass(ctx, name, t)
		d.mu.Lock()
		again = again || d.woken[name]
		delete(d.woken, name)
		if !again || ctx.Err() != nil {
			delete(d.active, name)
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
	}
}

// claim takes a record for this goroutine; nil if another one has it.
func (d *Deliveries) claim(id string) *flight {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.flights[id] != nil {
		return nil
	}
	f := &flight{done: make(chan struct{})}
	d.flights[id] = f
	return f
}

func (d *Deliveries) release(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.flights[id]; f != nil {
		close(f.done)
		delete(d.flights, id)
	}
}

// expire ends an item whose time has come, unless it is being typed.
func (d *Deliveries) expire(ctx context.Context, it record.Item) {
	detail := "it waited too long"
	if it.Record.Reason != "" {
		detail = fmt.Sprintf("it waited too long, at last for: %s", it.Record.Reason)
	}
	d.endWaiting(ctx, it, typist.End{Outcome: record.Expired, Reason: record.HoldFor, Detail: detail})
}

// begin marks a claim as begun; false if a person cancelled it first.
func (d *Deliveries) begin(f *flight) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.begun = !f.cancel
	return f.begun
}

func (d *Deliveries) unbegin(f *flight) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.begun, f.waiting = false, false
}

// waiting notes that a typed text waits for a safe moment; it reports whether a person wants it to end.
func (d *Deliveries) waiting(f *flight, on bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	f.waiting = on
	return f.cancel
}
