// Package session knows the agent that lives in a pane: which process it is, which records it keeps, what it is doing
// and by which evidence, and what its last answer was. It watches the configured agents and emits what changed.
package session

import (
	"errors"
	"time"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/tmux"
)

// Spec is one configured agent that has a pane.
type Spec struct {
	Name     string
	Kind     string // auto or a kind
	Socket   string // tmux socket; "" is the first configured one
	Target   string // tmux target or pane id …
	Match    Match  // … or a match
	Complete string // extra completion pattern, a regular expression; "" is none
}

// Match selects a pane by what it shows.
type Match = tmux.Match

// View is what is known of one agent at one moment.
type View struct {
	Agent      string
	Kind       string // as found, "" while no agent was found
	State      record.State
	Evidence   string // which evidence said so, in a few words
	Problem    string // why the pane or the agent can't be told: "3 panes match", "no session record" …
	Socket     string
	Server     tmux.Identity
	Pane       tmux.Pane
	Process    agent.Process // the agent's process; zero if there is none
	Version    string
	SessionID  string
	Transcript string
	Cwd        string
	Since      time.Time     // since when State holds
	Hold       record.Reason // why no text may be typed now as far as process, pane and records say; "" if it may
	Gone       bool          // provably: the pane or its agent ended, as opposed to not found or not reachable
	Box        agent.Box     // only from Look
	Shell      bool          // text that is typed here runs as commands
}

// EventKind says what an Event is about.
type EventKind int

// The kinds of events.
const (
	Found       EventKind = iota // an agent, or a new session of it, was found: Turn is what stood there before (may be zero)
	TurnOpened                   // a prompt was taken and the agent works
	TurnEnded                    // a turn has settled: answer or failure are known
	Changed                      // state, session or evidence changed
	PromptTaken                  // a prompt turned up in the agent's own record
)

// Event is a change of one agent. Events of one agent come in order.
type Event struct {
	Kind   EventKind
	Agent  string
	At     time.Time
	View   View
	Turn   agent.Turn
	Prompt agent.Prompt
}

// ErrNotConfigured says that no agent with a pane has this name (any more).
var ErrNotConfigured = errors.New("is not configured with a pane")

// Mark is a place in an agent's own record, from before a delivery.
type Mark struct {
	Session string `json:"session,omitempty"`
	File    string `json:"file,omitempty"`
	Offset  int64  `json:"offset"`
	Screen  string `json:"screen,omitempty"` // kinds without a record: hash of the screen before
}

// Taken says whether the target's own record shows a text after a mark.
type Taken struct {
	Proof  record.Proof // "" if it does not (yet)
	Queued bool         // the target queued it itself
	Prompt string       // id of its record
}
