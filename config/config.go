// Package config reads the one YAML file that says what MadoHub should do: strictly, with file, line and column for every
// problem. It knows no kinds, triggers or transforms by itself: their names are handed to Load.
package config

import (
	"time"

	"github.com/madohub/madohub/config/strict"
)

// Problem is one thing that is wrong, or worth knowing, at one place of the file.
type Problem = strict.Problem

// Problems are all problems of one file, in the order of the file.
type Problems = strict.Problems

// ParseDuration reads a time with its unit, such as 500ms, 1h30m or 90d.
func ParseDuration(s string) (time.Duration, error) { return strict.ParseDuration(s) }

// Nearest is the candidate that somebody who wrote s most likely meant, "" if none is near.
func Nearest(s string, candidates []string) string { return strict.Nearest(s, candidates) }

// Config is a whole, valid configuration with every default filled in.
type Config struct {
	File        string
	Tmux        []Tmux // at least one; the first is the default
	Dispatch    string // madoagent, legacy or shadow
	IdleDelay   time.Duration
	LLM         *LLM // nil: no model
	Agents      []Agent
	Connections []Connection // as written; flows are expanded by route/flow
	Flows       []Flow
	Limits      Limits
	Approve     []string
	Envelope    bool
	Notify      Notify
	Log         Log
	Warnings    Problems // what is allowed but should be known
}

// Tmux is one tmux server to watch.
type Tmux struct {
	Socket string        // a name (tmux -L) or an absolute path (tmux -S)
	Poll   time.Duration // how often panes are looked at
}

// LLM is the model of the orchestrator.
type LLM struct {
	Provider   string
	Model      string
	BaseURL    string
	APIKeyEnv  string
	APIKeyFile string
	Command    []string
	Timeout    time.Duration
}

// Agent is a pane, a model or a command with a name.
type Agent struct {
	Name            string
	Socket          string // tmux socket; "" is the first server
	Pane            string // tmux target or id; "" if Match is used or there is no pane
	Match           *Match
	Kind            string
	CanMessage      []string // canonical names
	Tools           []string
	CompletePattern string
	Typing          Typing
	Consult         string
	MultiLine       bool
	Model           string
	Command         []string
	Cwd             string
	Pos             Pos
}

// HasPane reports whether the agent lives in a pane.
func (a *Agent) HasPane() bool { return a.Pane != "" || a.Match != nil }

// Match selects a pane by what it shows.
type Match struct{ Session, Window, Title, Cwd, Command string }

// Typing overrides how a kind is typed into; zero fields keep the kind's own value.
type Typing struct {
	Mode         string // "", lines or paste
	LineDelayMin time.Duration
	LineDelayMax time.Duration
	BeforeSubmit time.Duration
	MaxDuration  time.Duration
	Submit       string // tmux name of the submit key
}

// Connection is one rule from one agent to another.
type Connection struct {
	Name      string
	Flow      string // the flow that it was expanded from, "" if the user drew it
	From      string
	To        string
	Trigger   string
	Keyword   string
	Transform string
	Template  string // prompt-wrap: "{output}" if none was given
	Dispatch  string // as written; "" is the global one
	Enabled   bool
	Guard     Guard
	Confirm   bool
	OnError   string
	Pos       Pos
}

// Guard is the loop guard of a connection.
type Guard struct {
	MaxRounds   int
	Cooldown    time.Duration
	StopKeyword string
	Rearm       string // manual or human
}

// Flow is a built-in set of connections.
type Flow struct {
	Flow     string // peer-review, pipeline or watcher
	Name     string
	Agents   FlowAgents
	Guard    Guard             // of every connection; zero fields keep the flow's own
	Template map[string]string // overrides of the flow's templates by role
	Pos      Pos
}

// FlowAgents are the roles of a flow.
type FlowAgents struct {
	Author, Reviewer  string
	Stages            []string
	Watched, Observer string
}

// Limits bound chains, queues and texts.
type Limits struct {
	MaxHops       int
	HoldFor       time.Duration
	QueueDepth    int
	MaxText       int // bytes
	TargetSpacing time.Duration
}

// Notify is a program that is told what a person should know.
type Notify struct{ Command []string }

// Log says how long records are kept.
type Log struct{ Keep time.Duration }

// Pos is a place in the file.
type Pos struct{ Line, Column int }

// Names are the words that the rest of the program knows.
type Names struct {
	Kinds, Triggers, Transforms, Flows []string
}
