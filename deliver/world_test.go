package deliver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session"
	"github.com/madohub/madohub/tmux"
)

// world is a tmux server with one pane and an agent in it, and the disk of the daemon. What the agent submitted is the oracle.
// A crash ends every goroutine of the daemon at its next call; the world lives on.
type world struct {
	t  testing.TB
	mu sync.Mutex

	server   tmux.Identity
	pane     tmux.Pane
	marker   string
	box      string
	state    record.State
	seen     record.State // at the last look
	shell    bool
	boxless  bool
	gone     bool
	noServer bool
	removed  bool // a reload took the agent away
	overlay  bool
	small    bool // the box shows only the last line
	left     string
	proc     agent.Process
	session  string
	clients  []tmux.Client // attached

	taken     []taken // the agent's own record
	submitted []string
	swallow   int           // submit keys that the agent ignores
	recordLag time.Duration // how late its record is
	queues    bool          // it queues what is submitted
	noRecord  bool

	items   map[string]record.Item
	recs    map[string]record.Record
	intents map[string]record.Intent
	order   []string
	rounds  int
	full    bool // disk
	counts  map[string]int

	bad   []string // broken promises
	calls int
	crash int  // call at which the daemon dies, 0: never
	after bool // after its effect
	dead  bool
	hook  func(w *world, call string, n int) error
}

type taken struct {
	text   string
	at     time.Time
	queued bool
}

func newWorld(t testing.TB) *world {
	return &world{
		t: t, server: tmux.Identity{PID: 77, Start: 1000}, session: "s1",
		pane:  tmux.Pane{ID: "%1", PID: 100},
		state: record.StateIdle, proc: agent.Process{PID: 101, Start: 5},
		items: map[string]record.Item{}, recs: map[string]record.Record{}, intents: map[string]record.Intent{}, counts: map[string]int{},
	}
}

// do runs one call of the daemon.
func (w *world) do(name string, effect func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		runtime.Goexit()
	}
	w.calls++
	w.counts[name]++
	if w.hook != nil {
		if err := w.hook(w, name, w.counts[name]); err != nil {
			return err
		}
	}
	die := w.calls == w.crash
	if die && !w.after {
		w.dead = true
		runtime.Goexit()
	}
	err := effect()
	if die {
		w.dead = true
		runtime.Goexit()
	}
	return err
}

func (w *world) broken(format string, args ...any) {
	w.bad = append(w.bad, fmt.Sprintf(format, args...))
}

// add puts a text into the queue.
func (w *world) add(id, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rec := record.Record{ID: id, Time: time.Now(), To: "b", Connection: "c-" + id, Text: text, Decision: record.Forward, Outcome: record.Held}
	w.recs[id] = rec
	w.order = append(w.order, id)
	w.items[id] = record.Item{Record: rec, Target: "b", Expires: time.Now().Add(30 * time.Minute), Order: int64(len(w.order))}
}

func (w *world) rec(id string) record.Record {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.recs[id]
}

// peek is what the world looks like while a daemon runs in it.
func (w *world) peek() *world {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &world{submitted: slices.Clone(w.submitted), counts: maps.Clone(w.counts), rounds: w.rounds, box: w.box, taken: slices.Clone(w.taken)}
}

func (w *world) set(f func(w *world)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(w)
}

// key is a key that a person has just pressed in the agent's pane.
func (w *world) key() {
	w.clients = []tmux.Client{{Pane: w.pane.ID, Activity: time.Now().Unix()}}
}

type fakeSessions struct{ *world }

func (s fakeSessions) Look(context.Context, string) (v session.View, err error) {
	err = s.do("look", func() error {
		if s.removed {
			return fmt.Errorf("agent %q %w", "b", session.ErrNotConfigured)
		}
		if s.noServer {
			v = session.View{Agent: "b", State: record.StateUnknown, Hold: record.ServerUnreachable, Problem: "no tmux server"}
			return nil
		}
		s.place()
		s.seen = s.state
		v = session.View{
			Agent: "b", Kind: "fake", State: s.state, Evidence: "fake", Socket: "x", Server: s.server, Pane: s.pane,
			Process: s.proc, SessionID: s.session, Gone: s.gone, Shell: s.shell,
		}
		if !s.boxless {
			v.Box = agent.Box{Found: true, Text: s.box, Overlay: s.overlay}
			if i := strings.LastIndex(s.box, "\n"); s.small && i > 0 {
				v.Box.Text, v.Box.Above = s.box[i+1:], strings.Count(s.box, "\n")
			}
		}
		return nil
	})
	return v, err
}

// place moves the cursor to where the agent draws it.
func (w *world) place() {
	w.pane.CursorX, w.pane.CursorY = 2+len(w.box)%70, 5+len(w.box)/70
	if w.state == record.StateDialog {
		w.pane.CursorX, w.pane.CursorY = 1, 9 // a dialog is drawn in place of the box
	}
}

func (s fakeSessions) Mark(context.Context, string) (m session.Mark, err error) {
	err = s.do("mark", func() error {
		m = session.Mark{Session: s.session, Offset: int64(len(s.taken))}
		return nil
	})
	return m, err
}

func (s fakeSessions) Taken(_ context.Context, _ string, m session.Mark, text string) (t session.Taken, err error) {
	err = s.do("taken", func() error {
		if m.Offset > int64(len(s.taken)) {
			return nil
		}
		for _, k := range s.taken[m.Offset:] {
			if k.text == text && !time.Now().Before(k.at) {
				t = session.Taken{Proof: record.ProofTranscript, Queued: k.queued}
			}
		}
		return nil
	})
	return t, err
}

func (s fakeSessions) Left(session.View) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

func (s fakeSessions) Terminal(socket string) (tmux.Conn, bool) {
	return fakeConn(s), socket == "x"
}

type fakeConn struct{ *world }

func (c fakeConn) Socket() string { return "x" }

func (c fakeConn) List(context.Context) (s tmux.Snapshot, err error) {
	err = c.do("list", func() error {
		if c.noServer {
			return tmux.ErrNoServer
		}
		s = tmux.Snapshot{Server: c.server, Panes: []tmux.Pane{c.pane}}
		return nil
	})
	return s, err
}

func (c fakeConn) Capture(_ context.Context, panes []string, _ tmux.CaptureOptions) (m map[string]tmux.Screen, err error) {
	err = c.do("capture", func() error {
		lines := strings.Split("old output\n\n\n\n\n$ "+c.box, "\n")
		c.pane.CursorY, c.pane.CursorX = len(lines)-1, len(lines[len(lines)-1])
		m = map[string]tmux.Screen{panes[0]: {Lines: append(lines, "", "")}}
		return nil
	})
	return m, err
}

func (c fakeConn) refuses(g tmux.Guard) string {
	c.place()
	switch {
	case g.Server != c.server:
		return "server"
	case g.Pane != c.pane.ID || g.PanePID != c.pane.PID || c.gone:
		return "pane"
	case c.pane.Mode > 0:
		return "mode"
	case g.Marker != c.marker:
		return "marker"
	case g.Cursor != nil && !c.boxless && *g.Cursor != (tmux.Cursor{X: c.pane.CursorX, Y: c.pane.CursorY}):
		return "cursor"
	}
	return ""
}

func (c fakeConn) Paste(_ context.Context, p tmux.Paste) (res tmux.Result, err error) {
	err = c.do("paste", func() error {
		if c.noServer {
			return tmux.ErrNoServer
		}
		if why := c.refuses(p.Guard); why != "" {
			res = tmux.Result{Marker: c.marker, Why: why}
			return nil
		}
		c.checkIntent(p.Marker)
		c.marker = p.Marker
		if c.state != record.StateDialog {
			c.box += p.Text
		}
		res = tmux.Result{Done: true}
		return nil
	})
	return res, err
}

// checkIntent: received means that an intent was on disk before.
func (w *world) checkIntent(marker string) {
	id, _, _ := strings.Cut(marker, ".")
	in, ok := w.intents[id]
	if !ok || !strings.HasPrefix(marker, fmt.Sprintf("%s.%d.", in.ID, in.Attempt)) {
		w.broken("key for %s without an intent", marker)
	}
}

func (c fakeConn) Press(_ context.Context, p tmux.Press) (res tmux.Result, err error) {
	err = c.do("press", func() error {
		if c.noServer {
			return tmux.ErrNoServer
		}
		if why := c.refuses(p.Guard); why != "" {
			res = tmux.Result{Marker: c.marker, Why: why}
			return nil
		}
		c.checkIntent(p.Marker)
		c.marker = p.Marker
		id, _, _ := strings.Cut(p.Marker, ".")
		c.enter(c.recs[id].Text)
		res = tmux.Result{Done: true}
		return nil
	})
	return res, err
}

// enter is what the agent does with a submit key of ours.
func (w *world) enter(want string) {
	switch {
	case w.state == record.StateDialog:
		w.broken("submit key into a dialog")
	case w.seen != record.StateIdle:
		w.broken("submit key while %s", w.seen)
	case w.box != want:
		w.broken("submit key with %q in the box, not %q", w.box, want)
	}
	if w.swallow > 0 {
		w.swallow--
		return
	}
	w.submit()
}

func (w *world) submit() {
	w.submitted = append(w.submitted, w.box)
	if !w.noRecord {
		w.taken = append(w.taken, taken{w.box, time.Now().Add(w.recordLag), w.queues})
	}
	w.box = ""
}

func (c fakeConn) Marker(_ context.Context, server tmux.Identity, pane string) (m string, err error) {
	err = c.do("marker", func() error {
		switch {
		case c.noServer:
			return tmux.ErrNoServer
		case server != c.server || pane != c.pane.ID:
			return tmux.ErrNoPane
		}
		m = c.marker
		return nil
	})
	return m, err
}

func (c fakeConn) Clients(context.Context) (out []tmux.Client, err error) {
	err = c.do("clients", func() error {
		out = c.clients
		return nil
	})
	return out, err
}
func (c fakeConn) Sweep(context.Context) error { return nil }
func (c fakeConn) Own(_ context.Context, o string, _ func(string) bool) (string, error) {
	return o, nil
}
func (c fakeConn) Disown(context.Context, string) error { return nil }

type fakeStore struct{ *world }

var errFull = errors.New("database or disk is full (13)")

func clone(r *record.Record) record.Record {
	c := *r
	c.Steps = slices.Clone(r.Steps)
	return c
}

func (s fakeStore) write(name string, effect func() error) error {
	return s.do(name, func() error {
		if s.full {
			return errFull
		}
		return effect()
	})
}

func (s fakeStore) Queue(context.Context) (out []record.Item, err error) {
	err = s.do("queue", func() error {
		for _, id := range s.order {
			if it, ok := s.items[id]; ok {
				it.Record = s.recs[id]
				it.Record.Steps = slices.Clone(it.Record.Steps)
				out = append(out, it)
			}
		}
		return nil
	})
	return out, err
}

func (s fakeStore) Hold(_ context.Context, rec *record.Record) error {
	return s.write("hold", func() error {
		if !record.Allowed(rec.Outcome, rec.Reason) {
			s.broken("hold with %s/%s", rec.Outcome, rec.Reason)
		}
		s.recs[rec.ID] = clone(rec)
		return nil
	})
}

func (s fakeStore) Intend(_ context.Context, rec *record.Record, in record.Intent) error {
	return s.write("intend", func() error {
		if _, ok := s.items[rec.ID]; !ok {
			return errors.New("not in the queue")
		}
		if _, ok := s.intents[rec.ID]; ok {
			s.broken("second intent for %s", rec.ID)
		}
		s.rounds++
		rec.Round = s.rounds
		s.recs[rec.ID], s.intents[rec.ID] = clone(rec), in
		return nil
	})
}

func (s fakeStore) Advance(_ context.Context, in record.Intent) error {
	return s.write("advance", func() error { s.intents[in.ID] = in; return nil })
}

func (s fakeStore) Finish(_ context.Context, rec *record.Record, refund bool) error {
	return s.write("finish", func() error {
		if !record.Allowed(rec.Outcome, rec.Reason) || !rec.Outcome.Final() {
			s.broken("end with %s/%s", rec.Outcome, rec.Reason)
		}
		if s.recs[rec.ID].Outcome.Final() {
			s.broken("%s ended twice: %s, %s", rec.ID, s.recs[rec.ID].Outcome, rec.Outcome)
		}
		if refund {
			s.refund(rec.ID)
		}
		s.recs[rec.ID] = clone(rec)
		delete(s.items, rec.ID)
		delete(s.intents, rec.ID)
		return nil
	})
}

// refund checks that a round is given back only if this attempt has typed nothing.
func (w *world) refund(id string) {
	in := w.intents[id]
	if strings.HasPrefix(w.marker, fmt.Sprintf("%s.%d.", id, in.Attempt)) {
		w.broken("round of %s given back although the marker is %s", id, w.marker)
	}
	w.rounds--
}

func (s fakeStore) Requeue(_ context.Context, rec *record.Record) error {
	return s.write("requeue", func() error {
		s.refund(rec.ID)
		s.recs[rec.ID] = clone(rec)
		delete(s.intents, rec.ID)
		return nil
	})
}

func (s fakeStore) Intents(context.Context) (out []record.Unfinished, err error) {
	err = s.do("intents", func() error {
		for _, id := range slices.Sorted(maps.Keys(s.intents)) {
			it := s.items[id]
			it.Record = s.recs[id]
			out = append(out, record.Unfinished{Item: it, Intent: s.intents[id]})
		}
		return nil
	})
	return out, err
}

func (s fakeStore) Record(_ context.Context, id string) (r record.Record, err error) {
	err = s.do("record", func() error {
		rec, ok := s.recs[id]
		if !ok {
			return errors.New("no such record")
		}
		r = clone(&rec)
		return nil
	})
	return r, err
}

func (s fakeStore) Retry(_ context.Context, it record.Item) error {
	return s.write("retry", func() error {
		s.recs[it.Record.ID], s.items[it.Record.ID] = it.Record, it
		return nil
	})
}

func (s fakeStore) Amend(_ context.Context, rec *record.Record) error {
	return s.write("amend", func() error { s.recs[rec.ID] = clone(rec); return nil })
}

// text is how the fake agent is typed into.
func fakeText() agent.Text {
	return agent.Text{
		Mode: "lines", LineDelayMin: 50 * time.Millisecond, LineDelayMax: 80 * time.Millisecond, BeforeSubmit: 500 * time.Millisecond,
		BetweenKeys: 200 * time.Millisecond, MaxDuration: 20 * time.Second, Submit: "Enter", Newline: "\n", MaxPiece: 800, MultiLine: true,
	}
}

func (w *world) options() Options {
	return Options{
		Sessions: fakeSessions{w}, Store: fakeStore{w},
		Typing: func(string, string) (Typing, error) {
			txt := fakeText()
			txt.MultiLine = !w.shell
			return Typing{Text: txt, Boxless: w.boxless}, nil
		},
		Limits: func() Limits { return Limits{MaxText: 1000} },
	}
}

// start runs a daemon; stop ends it and waits.
func (w *world) start(o Options) (d *Deliveries, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	d = New(o)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := d.Run(ctx); err != nil {
			w.t.Errorf("run: %v", err)
		}
	}()
	return d, func() { cancel(); <-done }
}

// run runs a daemon for a while, in a bubble of synctest: no real time passes.
func (w *world) run(o Options, wait time.Duration) {
	_, stop := w.start(o)
	time.Sleep(wait)
	stop()
}

func (w *world) check() {
	w.t.Helper()
	for _, b := range w.bad {
		w.t.Errorf("broken promise: %s", b)
	}
}

func (w *world) want(id string, o record.Outcome, r record.Reason) record.Record {
	w.t.Helper()
	rec := w.rec(id)
	if rec.Outcome != o || rec.Reason != r {
		w.t.Errorf("%s: got %s/%s (%s), want %s/%s", id, rec.Outcome, rec.Reason, rec.Detail, o, r)
	}
	return rec
}
