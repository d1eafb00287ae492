// Package trigger decides when the answer of an agent fires a connection, one file a trigger. It is pure: events and the
// present time in, firings out; no clock, no goroutine, no store.
package trigger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/record"
)

// Kind says what an Event is about.
type Kind int

// The kinds of events.
const (
	Found    Kind = iota // a session was found: what stands in it fires nothing
	Opened               // a turn began
	Ended                // a turn settled
	Activity             // silence was broken
)

// Event is one change of the source of a connection.
type Event struct {
	Kind     Kind
	At       time.Time // when it happened, by the agent's own record where there is one
	Key      string    // names the turn across sessions; "" if there is no turn
	Turn     agent.Turn
	Evidence string
}

// Firing is what a trigger makes of one ended turn.
type Firing struct {
	Key      string
	Turn     agent.Turn
	Skip     record.Reason // why the turn forwards nothing; "" if it fires
	Detail   string
	Evidence string
	Silence  time.Duration // from the end of the turn to the firing
}

// Trigger is what one connection waits for. It is not safe for concurrent use.
type Trigger interface {
	// Event takes a change and returns the turns that end with it without being forwarded.
	Event(e Event, now time.Time) []Firing
	// Due is when the waiting turn fires; false if none waits or its silence has not begun.
	Due() (time.Time, bool)
	// Fire returns the waiting turn if it is due, and forgets it.
	Fire(now time.Time) (Firing, bool)
	// Pending is the key of the waiting turn, "" if there is none.
	Pending() string
	// Take returns the waiting turn whether or not it is due, and forgets it.
	Take() (Firing, bool)
	// SetDelay changes the silence that is waited for, also of a turn that waits already.
	SetDelay(d time.Duration)
	// Waiting says in a few words what is waited for, "" if nothing is.
	Waiting(now time.Time) string
}

// Info describes a trigger.
type Info struct {
	Name string
	New  func(delay time.Duration) Trigger
}

var registry = map[string]Info{}

func register(i Info) {
	if _, twice := registry[i.Name]; twice {
		panic("trigger: registered twice: " + i.Name)
	}
	registry[i.Name] = i
}

// Names lists the triggers of this build.
func Names() []string { return slices.Sorted(maps.Keys(registry)) }

// New makes a trigger by its name; delay is the silence that it waits for.
func New(name string, delay time.Duration) (Trigger, error) {
	i, ok := registry[name]
	if !ok {
		return nil, fmt.Errorf("trigger %q is not one of %s", name, strings.Join(Names(), ", "))
	}
	return i.New(delay), nil
}
