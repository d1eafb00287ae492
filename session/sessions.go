package session

import (
	"context"
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/mailbox"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session/proc"
	"github.com/madohub/madohub/session/records"
	"github.com/madohub/madohub/session/screen"
	"github.com/madohub/madohub/tmux"
)

// DefaultPoll is how often panes are looked at when a Server does not say it.
const DefaultPoll = 500 * time.Millisecond

// Options say what is watched, and where.
type Options struct {
	Servers  []Server // the first one is that of a Spec without a socket
	Specs    []Spec
	OnEvent  func(Event) // called from one goroutine, in order; it may be slow, the watchers don't wait for it
	Log      *zap.Logger // nil: none
	ProcRoot string      // "/proc" unless a test says otherwise
	Home     string      // home folder for processes whose environment can't be read; "": that of this process
}

// Server is one tmux server that is watched.
type Server struct {
	Conn tmux.Conn
	Poll time.Duration // DefaultPoll if 0
}

// ServerState is what is known of a tmux server, for `status`.
type ServerState struct {
	Socket   string
	Identity tmux.Identity // zero while no server answers
	Panes    int
	Error    string
}

// Sessions watches the configured agents. New wires it, Run works; everything else may be called at any time from
// any goroutine.
type Sessions struct {
	log     *zap.Logger
	onEvent func(Event)
	procs   proc.Reader
	home    string
	servers []*server
	events  *mailbox.Box[Event]
	proofs  records.Proofs

	mu     sync.Mutex
	agents []*tracked // mu; in the order of the configuration
}

// server is one watched tmux server.
type server struct {
	conn  tmux.Conn
	poll  time.Duration
	state atomic.Pointer[ServerState]
}

// tracked is one configured agent.
type tracked struct {
	spec     Spec           // never changed
	complete *regexp.Regexp // never changed; nil: none
	view     atomic.Pointer[View]
	turn     atomic.Pointer[agent.Turn] // newest ended turn

	mu    sync.Mutex
	seat  seat      // mu; where the agent was last found
	box   agent.Box // mu; of the last Look
	boxAt time.Time // mu

	// The watcher of the agent's server owns what follows.
	lastAt time.Time // when it was last looked at
	book   *records.Transcript
	turns  turnLog
	shell  shellTurns
	screen screen.Last
}

// New wires a Sessions. It starts nothing.
func New(opt Options) *Sessions {
	if opt.Log == nil {
		opt.Log = zap.NewNop()
	}
	if opt.ProcRoot == "" {
		opt.ProcRoot = "/proc"
	}
	if opt.OnEvent == nil {
		opt.OnEvent = func(Event) {}
	}
	s := &Sessions{log: opt.Log, onEvent: opt.OnEvent, procs: proc.Reader{Root: opt.ProcRoot}, home: opt.Home}
	// Of a row of changes of one agent only the newest matters.
	s.events = mailbox.New(func(last, next Event) bool {
		return last.Kind == Changed && next.Kind == Changed && last.Agent == next.Agent
	})
	for _, o := range opt.Servers {
		if o.Poll <= 0 {
			o.Poll = DefaultPoll
		}
		srv := &server{conn: o.Conn, poll: o.Poll}
		srv.state.Store(&ServerState{Socket: o.Conn.Socket(), Error: "not looked at yet"})
		s.servers = append(s.servers, srv)
	}
	s.SetSpecs(opt.Specs)
	return s
}

// SetSpecs replaces the configured agents. An agent whose Spec is unchanged keeps what is known of it; the others are
// looked for at the next tick.
func (s *Sessions) SetSpecs(specs []Spec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := map[string]*tracked{}
	for _, t := range s.agents {
		old[t.spec.Name] = t
	}
	s.agents = make([]*tracked, 0, len(specs))
	for _, spec := range specs {
		if t := old[spec.Name]; t != nil && t.spec == spec {
			s.agents = append(s.agents, t)
			continue
		}
		s.agents = append(s.agents, s.track(spec))
	}
}

func (s *Sessions) track(spec Spec) *tracked {
	t := &tracked{spec: spec}
	v := View{
		Agent: spec.Name, State: record.StateUnknown, Evidence: "not looked at yet", Socket: spec.Socket,
		Since: time.Now(), Hold: record.StateIsUnknown,
	}
	if spec.Complete != "" {
		re, err := regexp.Compile(spec.Complete)
		if err != nil {
			v.Problem = fmt.Sprintf("complete_pattern: %v", err)
		}
		t.complete = re
	}
	if srv := s.serverOf(spec); srv != nil {
		v.Socket = srv.conn.Socket()
	} else {
		v.Problem = fmt.Sprintf("no tmux server with the socket %q is configured", spec.Socket)
	}
	t.view.Store(&v)
	return t
}

// serverOf is the server in which an agent lives, nil if it is not configured.
func (s *Sessions) serverOf(spec Spec) *server {
	for i, srv := range s.servers {
		if srv.conn.Socket() == spec.Socket || (spec.Socket == "" && i == 0) {
			return srv
		}
	}
	return nil
}

// tracked is the agent of a name, nil if there is none.
func (s *Sessions) tracked(name string) *tracked {
	for _, t := range s.all() {
		if t.spec.Name == name {
			return t
		}
	}
	return nil
}

func (s *Sessions) all() []*tracked {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*tracked(nil), s.agents...)
}

// Views are all agents as the last tick saw them, in the order of the configuration.
func (s *Sessions) Views() []View {
	var views []View
	for _, t := range s.all() {
		views = append(views, *t.view.Load())
	}
	return views
}

// View is one agent as the last tick saw it; false if no agent of this name is configured.
func (s *Sessions) View(name string) (View, bool) {
	t := s.tracked(name)
	if t == nil {
		return View{}, false
	}
	return *t.view.Load(), true
}

// LastTurn is the newest ended turn of an agent's present session, with its answer or failure.
func (s *Sessions) LastTurn(name string) (agent.Turn, bool) {
	t := s.tracked(name)
	if t == nil {
		return agent.Turn{}, false
	}
	if turn := t.turn.Load(); turn != nil {
		return *turn, true
	}
	return agent.Turn{}, false
}

// Servers tells how the tmux servers are.
func (s *Sessions) Servers() []ServerState {
	var states []ServerState
	for _, srv := range s.servers {
		states = append(states, *srv.state.Load())
	}
	return states
}

// Terminal is the tmux connection of a socket; "" is the first one.
func (s *Sessions) Terminal(socket string) (tmux.Conn, bool) {
	if srv := s.serverOf(Spec{Socket: socket}); srv != nil {
		return srv.conn, true
	}
	return nil, false
}

// Run watches until ctx ends: one loop a tmux server. No error of a server, a process or a file ends it.
func (s *Sessions) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.events.Run(ctx, s.onEvent) })
	for _, srv := range s.servers {
		g.Go(func() error { return s.watch(ctx, srv) })
	}
	return g.Wait()
}
