// Package guard holds what a text must pass before it is typed, one file a gate, and the memory that the gates need: which
// loops the connections form, when something was last delivered, through whom a turn was set off. Gates are pure: facts in,
// verdict out.
package guard

import (
	"fmt"
	"time"

	"github.com/madohub/madohub/config"
	"github.com/madohub/madohub/record"
)

// Verdict is what a gate says. Without an Outcome the text may go, and Detail is the present value of the condition.
type Verdict struct {
	Outcome record.Outcome // Held to wait, any other to end it
	Reason  record.Reason
	Detail  string
	Retry   time.Time // for Held: when to ask again; zero: whenever something changes
}

// Gate is one condition that a text must meet.
type Gate struct {
	Name string
	Ask  func(*Facts) Verdict
}

// The gates in the order in which they are asked. The first that says no has the word.
var (
	// Firing is asked before a transform runs: a paused or ended loop costs nothing.
	Firing = []Gate{Paused, StopKeyword, Rounds, Target, Self, Allowed, Hops}
	// Text is asked with the text, before it is queued.
	Text = []Gate{Content, Queue}
	// Waiting is asked when a text is queued, so that its record says at once why it waits.
	Waiting = []Gate{Approval, Cooldown, Spacing}
	// Typing is asked before every attempt to type.
	Typing = []Gate{Standing, Paused, Rounds, Allowed, Approval, Cooldown, Spacing}
	// Explained are all that need no text and no sender.
	Explained = []Gate{Paused, StopKeyword, Rounds, Target, Self, Queue, Approval, Cooldown, Spacing}
)

// Facts are what the gates of one decision look at.
type Facts struct {
	Now      time.Time
	Rule     *Rule // nil: a text that was sent by hand or by an agent, or whose rule is gone
	Rules    map[string]*Rule
	Agents   map[string]*config.Agent
	Limits   config.Limits
	Record   *record.Record
	Item     *record.Item // nil until the text is queued
	Counters map[string]record.Counter
	Answer   string // of the source, for the stop keyword
	QueueLen int
	Replaces string // waiting record of the same connection
	Pace     *Pace
	From, To Seen
}

// Seen is what is known of an agent's pane.
type Seen struct {
	Known       bool // the agent has been looked at
	State       record.State
	Evidence    string
	Pane        string // names the pane across servers; "" if it is not known
	Gone, Shell bool
}

// Counter is the counter of the record's connection.
func (f *Facts) Counter() record.Counter {
	c := f.Counters[f.Record.Connection]
	c.Connection = f.Record.Connection
	return c
}

// Ask puts gates one after the other, up to the first that says no.
func Ask(gates []Gate, f *Facts) Verdict {
	for _, g := range gates {
		if v := g.Ask(f); v.Outcome != "" {
			return v
		}
	}
	return Verdict{}
}

func pass(format string, args ...any) Verdict { return Verdict{Detail: fmt.Sprintf(format, args...)} }

func no(o record.Outcome, r record.Reason, format string, args ...any) Verdict {
	return Verdict{Outcome: o, Reason: r, Detail: fmt.Sprintf(format, args...)}
}
