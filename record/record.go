// Package record holds the words that every stage of a routing decision shares: the record itself, its outcome, its
// reason, and the rows of the queue. It is a leaf: it imports nothing of ours and does nothing.
package record

import "time"

// Record is one routing decision, from the trigger that fired to the proof that the target took the text. It is written
// once when it is decided and updated until its outcome is final. The JSON form is public (`madohubctl log --json`).
type Record struct {
	ID         string    `json:"id"`
	Seq        int64     `json:"seq"` // grows with every change of any record; set by the store
	Time       time.Time `json:"time"`
	Updated    time.Time `json:"updated"`
	Connection string    `json:"connection,omitempty"` // empty for `madohubctl send`
	From       string    `json:"from,omitempty"`       // agent, empty for a person
	To         string    `json:"to"`
	Origin     Origin    `json:"origin"`
	Trigger    string    `json:"trigger,omitempty"`
	Transform  string    `json:"transform,omitempty"`
	Dispatch   string    `json:"dispatch,omitempty"`
	Decision   Decision  `json:"decision"`
	Reason     Reason    `json:"reason"`
	Round      int       `json:"round,omitempty"`
	MaxRounds  int       `json:"max_rounds,omitempty"`
	Outcome    Outcome   `json:"outcome"`
	Proof      Proof     `json:"proof,omitempty"`
	SourceText string    `json:"source_text,omitempty"` // the answer that fired, as the source wrote it
	Text       string    `json:"text,omitempty"`        // what is, or would have been, typed; after cleaning once it was typed
	Attempts   int       `json:"attempts"`
	Hops       []string  `json:"hops,omitempty"` // agents of the chain that led here, oldest first
	Timings    Timings   `json:"timings_ms"`
	Turn       string    `json:"turn,omitempty"`     // the source's turn, unique per session; (connection, turn) fires once
	Detail     string    `json:"detail,omitempty"`   // one sentence for a person: what exactly, and how to mend it
	Evidence   string    `json:"evidence,omitempty"` // what said that the source had finished
	By         string    `json:"by,omitempty"`       // who asked, for origin cli and mcp: "person" or an agent's name
	Removed    int       `json:"removed,omitempty"`  // control characters and sequences that cleaning took out
	Pane       string    `json:"pane,omitempty"`     // where keys were sent
	Steps      []Step    `json:"steps,omitempty"`    // delivery steps, oldest first, at most MaxSteps
}

// MaxSteps bounds Record.Steps; the oldest hold steps are dropped first.
const MaxSteps = 64

// Step is one thing that happened to a delivery.
type Step struct {
	Time time.Time `json:"time"`
	Name string    `json:"name"` // held, gated, intent, pasted, checked, entered, proved, recovered …
	Note string    `json:"note,omitempty"`
}

// Timings are the milliseconds that each part of a record's way took.
type Timings struct {
	Silence int64 `json:"silence"` // from the end of the turn to the firing
	Decide  int64 `json:"decide"`
	Hold    int64 `json:"hold"`  // from the decision to the intent
	Type    int64 `json:"type"`  // from the first key to the submit key
	Prove   int64 `json:"prove"` // from the submit key to the proof
}

// Origin says what asked for a delivery.
type Origin string

// The origins.
const (
	OriginTrigger Origin = "trigger"
	OriginMCP     Origin = "mcp"
	OriginCLI     Origin = "cli"
)

// Decision says whether the text was to go on.
type Decision string

// The decisions.
const (
	Forward Decision = "forward"
	Skip    Decision = "skip"
)

// Proof says which record of the target showed that it took the prompt.
type Proof string

// The proofs, strongest first.
const (
	ProofTranscript Proof = "transcript"
	ProofSession    Proof = "session"
	ProofScreen     Proof = "screen"
	ProofNone       Proof = "none"
)

// State is what an agent is doing, as far as evidence says.
type State string

// The states of an agent.
const (
	StateStarting  State = "starting"
	StateBusy      State = "busy"
	StateIdle      State = "idle"
	StateDialog    State = "dialog"
	StateLimited   State = "limited"
	StateSuspended State = "suspended"
	StateGone      State = "gone"
	StateUnknown   State = "unknown"
)

// DisabledBy says why a connection is off. Empty means that it is on.
type DisabledBy string

// What may disable a connection.
const (
	DisabledByRounds  DisabledBy = "max_rounds"
	DisabledByKeyword DisabledBy = "stop_keyword"
	DisabledByUser    DisabledBy = "user"
	DisabledByConfig  DisabledBy = "config"
)
