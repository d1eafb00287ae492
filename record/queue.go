package record

import "time"

// Item is a row of the durable queue: a decided text that waits for its target.
type Item struct {
	Record   Record
	Target   string    // agent
	Expires  time.Time // when the item becomes expired/hold_for
	Approval bool      // a person must approve before it is typed
	Order    int64     // position: lower is older; set by the store
}

// Intent is the row that is on disk before the first key of a delivery and until its outcome is.
type Intent struct {
	ID      string // record
	Attempt int
	Server  string // tmux server identity, "pid:start"
	Socket  string // how the server was reached
	Pane    string // "%5"
	PanePID int
	Prev    string // the pane's marker when the gate saw it
	Lines   int    // pieces to paste
	Line    int    // pieces that are known to be pasted
	Stage   Stage
	Mark    string // where the target's own record stood before the first key (opaque to the store)
}

// Stage is how far a delivery is known to have come.
type Stage string

// The stages of an intent.
const (
	StageIntent  Stage = "intent"  // nothing sent yet, or not known
	StagePasting Stage = "pasting" // Line pieces are in the pane
	StagePasted  Stage = "pasted"  // all pieces are in the pane, no submit key yet
	StageEntered Stage = "entered" // the submit key was sent
)

// Counter is the persistent state of one connection.
type Counter struct {
	Connection   string
	Round        int        // deliveries since it was last armed
	DisabledBy   DisabledBy // "" while it is on
	LastDelivery time.Time  // wall clock of the last intent
	LastTurn     string     // newest turn of the source that was decided or taken as the base line
	LastID       string     // newest record
}

// Unfinished is an intent without an outcome: a crash came between.
type Unfinished struct {
	Item   Item
	Intent Intent
}

// Decided is what one decision writes, in one transaction.
type Decided struct {
	Record  *Record
	Item    *Item                 // nil: nothing to deliver
	Replace string                // id of a waiting record that this one supersedes, "" for none
	Turn    string                // newest turn of the source for this connection, "" for none
	Disable map[string]DisabledBy // connections that end with this decision

	// Operation is the id that the asker gave a request, "" for none. If the same asker (Record.By) used it before for the
	// same target and text, nothing is written, *Record becomes the earlier record, and Decide returns false; for another
	// text it returns an error.
	Operation string
}
