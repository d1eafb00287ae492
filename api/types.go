// Package api is the control socket: its wire types, its server (HTTP/JSON and server-sent events on a unix socket), its
// client, which only madohubctl uses, and its metrics.
package api

import (
	"context"
	"time"

	"github.com/madohub/madohub/record"
)

// Status answers GET /v1/status.
type Status struct {
	Daemon      Daemon       `json:"daemon"`
	Agents      []Agent      `json:"agents"`
	Connections []Connection `json:"connections"`
	Queue       []Queued     `json:"queue"`
	Dispatch    Dispatch     `json:"dispatch"`
	Config      ConfigState  `json:"config"`
	Tmux        []Tmux       `json:"tmux"`
	Warnings    []string     `json:"warnings,omitempty"` // store trouble, running as root …
}

// Daemon is the running daemon.
type Daemon struct {
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	State   string    `json:"state_dir"`
	Socket  string    `json:"socket"`
}

// Tmux is one tmux server that is watched.
type Tmux struct {
	Socket string `json:"socket"`
	Server string `json:"server,omitempty"` // "pid:start"
	Panes  int    `json:"panes"`
	Error  string `json:"error,omitempty"`
}

// Agent is one configured agent.
type Agent struct {
	Name       string       `json:"name"`
	PaneID     string       `json:"pane_id"`
	Target     string       `json:"target,omitempty"` // session:window.pane now
	Kind       string       `json:"kind"`
	State      record.State `json:"state"`
	Evidence   string       `json:"evidence"`
	Problem    string       `json:"problem,omitempty"`
	Since      time.Time    `json:"since"`
	SessionID  string       `json:"session_id"`
	Transcript string       `json:"transcript"`
	Cwd        string       `json:"cwd"`
	PID        int          `json:"pid"`
	Version    string       `json:"version,omitempty"`
	Draft      bool         `json:"draft,omitempty"`
}

// Connection is one rule, drawn by the user or expanded from a flow.
type Connection struct {
	Name          string            `json:"name"`
	Flow          string            `json:"flow,omitempty"`
	From          string            `json:"from"`
	To            string            `json:"to"`
	Enabled       bool              `json:"enabled"`
	DisabledBy    record.DisabledBy `json:"disabled_by,omitempty"`
	Round         int               `json:"round"`
	MaxRounds     int               `json:"max_rounds"`
	CooldownUntil *time.Time        `json:"cooldown_until,omitempty"`
	LastID        string            `json:"last_id,omitempty"`
	LastOutcome   record.Outcome    `json:"last_outcome,omitempty"`
	LastReason    record.Reason     `json:"last_reason,omitempty"`
	LastTime      *time.Time        `json:"last_time,omitempty"`
	Trigger       string            `json:"trigger"`
	Transform     string            `json:"transform"`
	Dispatch      string            `json:"dispatch"`
	Waiting       string            `json:"waiting,omitempty"` // "fires in 5 s", while the silence runs
}

// Queued is one held text.
type Queued struct {
	ID         string        `json:"id"`
	Connection string        `json:"connection"`
	From       string        `json:"from"`
	To         string        `json:"to"`
	Reason     record.Reason `json:"reason"`
	Detail     string        `json:"detail,omitempty"`
	Since      time.Time     `json:"since"`
	Expires    time.Time     `json:"expires"`
}

// Dispatch is how firings are decided.
type Dispatch struct {
	Configured string `json:"configured"`
	Effective  string `json:"effective"`
	Why        string `json:"why,omitempty"`
}

// ConfigState is the configuration in force.
type ConfigState struct {
	File       string `json:"file"`
	Generation int    `json:"generation"`
	Error      string `json:"error,omitempty"` // of the newest load, if it was refused
}

// Send asks for POST /v1/send.
type Send struct {
	To        string `json:"to"`
	Text      string `json:"text"`
	Operation string `json:"operation,omitempty"` // same operation and text again: same record, nothing is typed twice
}

// Answer is what GET /v1/records/{id}/answer returns once the turn that the delivery opened has ended.
type Answer struct {
	Record  record.Record `json:"record"`
	Answer  string        `json:"answer"`
	Failure record.Reason `json:"failure,omitempty"`
}

// Explanation answers GET /v1/explain/{connection or id}.
type Explanation struct {
	Connection *Connection    `json:"connection,omitempty"`
	Record     *record.Record `json:"record,omitempty"`
	Checks     []Check        `json:"checks"`
	Verdict    string         `json:"verdict"` // one sentence
}

// Check is one condition with its present value.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Text string `json:"text"`
}

// LogQuery selects records.
type LogQuery struct {
	N          int // newest n; 0: 20
	Connection string
	Agent      string // from or to
	Outcome    record.Outcome
	Since      time.Time
	After      int64 // only changes with a higher seq
}

// Caller is who asks, as the kernel says.
type Caller struct {
	PID     int
	Agent   string // configured agent whose process the caller descends from
	IsAgent bool   // it descends from an agent process, configured or not
	Unknown bool   // the caller could not be told (it is refused what a person may)
}

// Control is what the server asks of the daemon. Errors of type *Error carry a status and a hint. Texts come as they are
// stored: the server masks what it shows.
type Control interface {
	Status(ctx context.Context) (Status, error)
	Log(ctx context.Context, q LogQuery) ([]record.Record, error)
	Record(ctx context.Context, id string) (record.Record, error) // an unambiguous prefix or "last" will do
	// Follow sends every change after q.After to each until ctx ends.
	Follow(ctx context.Context, q LogQuery, each func(record.Record) error) error
	Explain(ctx context.Context, what string) (Explanation, error)
	Queue(ctx context.Context) ([]Queued, error)
	Cancel(ctx context.Context, c Caller, id string) (record.Record, error)
	Send(ctx context.Context, c Caller, s Send) (record.Record, error)
	// Wait returns when the record is final.
	Wait(ctx context.Context, id string) (record.Record, error)
	// Answer returns when the turn that the delivery opened has ended.
	Answer(ctx context.Context, id string) (Answer, error)
	// Switch pauses, resumes or rearms connections: names of connections or flows, or all.
	Switch(ctx context.Context, c Caller, action string, names []string, all bool) ([]Connection, error)
	Fire(ctx context.Context, c Caller, connection string) (record.Record, error)
	// Resolve settles an unknown: typed, retry or drop.
	Resolve(ctx context.Context, c Caller, id, how string) (record.Record, error)
	// Approve lets an item go that needs approval, or denies it.
	Approve(ctx context.Context, c Caller, id string, yes bool) (record.Record, error)
	Reload(ctx context.Context, c Caller) (ConfigState, error)
	// Identify tells who a peer is.
	Identify(pid int) Caller
}

// Error is an error with its place in HTTP and a hint for the user.
type Error struct {
	Status  int           `json:"-"`
	Message string        `json:"error"`
	Hint    string        `json:"hint,omitempty"`
	Reason  record.Reason `json:"reason,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }
