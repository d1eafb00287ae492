// Package agent holds what MadoHub knows of each kind of agent, one file a kind: how to recognise its process, what its
// screen and its records mean, how to type into it. It is pure: bytes in, meaning out; no exec, no clock, no goroutine.
package agent

import (
	"time"

	"github.com/madohub/madohub/record"
)

// Kind is one kind of agent. What a kind can't say is left nil.
type Kind struct {
	Name     string
	Doc      string   // one line for help and docs
	Tested   []string // versions that the facts below were seen with
	Comms    []string // exact process names (/proc/PID/comm)
	Explicit bool     // only by `kind:`, never found by `auto` (the shell)
	Text     Text
	Process  func(Process) bool // further test of a process whose name matched; nil: none
	Screen   func(Screen) Reading
	Records  *Records
	Output   func(Screen) []string // logical lines of the screen without input box and status area
}

// Text says how a kind is typed into. Every number is overridable in YAML.
type Text struct {
	Mode         string        // lines or paste
	LineDelayMin time.Duration // pause between pasted lines, chosen at random between these
	LineDelayMax time.Duration
	BeforeSubmit time.Duration       // pause between the last piece and the submit key
	BetweenKeys  time.Duration       // least pause before a second submit key
	MaxDuration  time.Duration       // a text that takes longer is typed as one paste
	Submit       string              // tmux name of the submit key
	Newline      string              // what a line end is inside the box: "\n"
	MaxPiece     int                 // characters a paste; longer lines are cut between graphemes
	Disarm       func(string) string // makes a leading "!" or "/" plain text; nil: not needed
	MultiLine    bool                // several lines are one prompt
}

// Process is what is known of an operating-system process.
type Process struct {
	PID, PPID int
	PGRP      int
	TPGID     int    // foreground process group of its terminal
	State     byte   // R S D T Z …
	Start     uint64 // ticks since boot, field 22 of /proc/PID/stat
	Comm      string
	Args      []string // read only for candidates
}

// Screen is a captured screen of a pane.
type Screen struct {
	Lines            []string // plain text, one a row
	Styled           []string // the same rows with SGR sequences; nil if they were not asked for
	Title            string
	CursorX, CursorY int
	Width, Height    int
}

// Reading is what a screen says.
type Reading struct {
	State record.State // "" if it says nothing
	Rule  string       // which rule spoke, for `status` and `explain`
	Box   Box
}

// Box is the input box of an agent.
type Box struct {
	Found   bool   // the box is on the screen and was understood
	Text    string // what stands in it, rows joined by newlines; "" when it is empty or shows only a ghost suggestion
	Above   int    // rows that are scrolled out of the box above
	Pasted  int    // lines that a placeholder such as "[Pasted text #1 +12 lines]" stands for; 0: none
	Overlay bool   // something covers or replaces the box (menu, search, shell mode)
}

// Records says where a kind keeps its own records and what they mean.
type Records struct {
	// Home is the kind's folder, from the environment of the agent's process.
	Home func(env func(string) string) string
	// SessionFile is the record that the process with this pid keeps of itself.
	SessionFile func(home string, pid int) string
	// ParseSession reads it.
	ParseSession func([]byte) (Session, error)
	// Transcripts are the places (globs, one level deep) where the transcript of a session may be, best first.
	Transcripts func(home, session, cwd string) []string
	// Projects are the folders in which transcripts of a working directory may be, for S5; nil: none.
	Projects func(home, cwd string) []string
	// NewFold makes a fresh reader of transcript lines.
	NewFold func() Fold
}

// Session is what an agent's process says of itself.
type Session struct {
	PID         int
	ID          string
	Cwd         string
	ProcStart   string // /proc/PID/stat field 22 of the process that wrote it
	Version     string
	Interactive bool         // a person's own TUI, not a headless run
	State       record.State // "" if the record has no status yet
	Waiting     string
	Changed     time.Time // when State last changed
}

// Fold reads a transcript line by line and keeps what matters of it, in bounded memory.
type Fold interface {
	// Line takes one complete line without its newline, which begins at this offset of the file. Lines that can't be understood are skipped.
	Line(line []byte, offset int64)
	// Rooted reports whether the beginning of the present turn has been seen, so that an answer can't be an older one's.
	Rooted() bool
	// Last is the newest turn, open or ended; ok is false if there is none.
	Last() (Turn, bool)
	// Prompts are the newest prompts that the agent took, oldest first, at most 256.
	Prompts() []Prompt
	// Cwd is the working directory that the transcript itself names.
	Cwd() string
}

// Turn is one prompt and the work on it.
type Turn struct {
	ID         string // unique for the session: the prompt's own id
	Prompt     string
	Human      bool // typed into the agent, by a person or by us; false for what the harness itself put in
	Started    time.Time
	Ended      bool
	End        time.Time
	EndOffset  int64         // where the record that ended it begins
	Background int           // agents that still work although the main turn has ended
	Failure    record.Reason // why there is no answer; "" if there is one
	Detail     string        // the failure in the agent's words, at most 300 characters
	Answer     string
	Steered    []string // ids of further prompts that the agent took while it worked on this turn, at most 16
}

// TurnLister is implemented by folds that can name more than the newest turn: where two panes write to one transcript,
// the turn of a pane's own prompt need not be the newest.
type TurnLister interface {
	// Turns are the newest turns, oldest first, at most 8.
	Turns() []Turn
}

// Prompt is a prompt as the target's own record has it.
type Prompt struct {
	ID     string
	Text   string // without the frame that some versions put around pasted content
	Queued bool   // only queued so far: it has not been given to the model
	Time   time.Time
	Offset int64
}
