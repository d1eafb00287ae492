// Package tmux is the only package that runs tmux. It owns the identity of a tmux server, the list of its panes, captures
// of their screens, and guarded typing; every quirk of tmux that matters has its comment here. It never starts a server.
package tmux

import (
	"context"
	"errors"
	"time"
)

// Conn is a way to one tmux server. All methods may be called at the same time from several goroutines. Every call has
// a deadline of its own beside the context's. The conformance suite in conn_test.go holds for every implementation.
type Conn interface {
	// Socket names the server as the configuration does: a name (tmux -L) or an absolute path (tmux -S).
	Socket() string
	// List looks at all panes of the server in one command. A pane that is linked into several sessions is listed
	// once. ErrNoServer if no server answers.
	List(ctx context.Context) (Snapshot, error)
	// Capture reads the visible screens of panes, all in one command. A pane that is gone is missing in the result; it
	// is no error.
	Capture(ctx context.Context, panes []string, opt CaptureOptions) (map[string]Screen, error)
	// Paste types one piece of text with one command: tmux itself tests the guard, pastes and sets the new marker, or does nothing.
	Paste(ctx context.Context, p Paste) (Result, error)
	// Press sends one key with one command, under the same kind of guard.
	Press(ctx context.Context, p Press) (Result, error)
	// Marker reads the delivery marker of a pane, "" if it has none. ErrNoPane if the pane does not exist.
	Marker(ctx context.Context, server Identity, pane string) (string, error)
	// Clients lists the attached clients, for telling whether a person has just typed.
	Clients(ctx context.Context) ([]Client, error)
	// Sweep deletes buffers that killed deliveries of ours left behind.
	Sweep(ctx context.Context) error
	// Own claims the server for one daemon with a server option by compare-and-swap. It returns the present owner: ours if
	// claimed. alive tells whether another owner still lives.
	Own(ctx context.Context, owner string, alive func(owner string) bool) (string, error)
	// Disown gives the claim back if it is ours.
	Disown(ctx context.Context, owner string) error
}

var (
	// ErrNoServer says that no tmux server answers at the socket: an unreachable server, not a gone pane.
	ErrNoServer = errors.New("no tmux server")
	// ErrNoPane says that the server answers and has no such pane.
	ErrNoPane = errors.New("no such pane")
)

// Identity tells one run of a tmux server from the next: pane ids begin again at %0 after a restart, and even the socket's inode stays.
type Identity struct {
	PID   int
	Start int64 // seconds since 1970, tmux's start_time
}

// Snapshot is the state of all panes of a server at one moment.
type Snapshot struct {
	Server Identity
	Taken  time.Time // before the command was sent
	Panes  []Pane
	Linked []Pane // further places of panes in Panes that are linked into several sessions; Resolve looks there too
}

// Pane is one line of the list.
type Pane struct {
	ID           string // "%5"
	PID          int
	Dead         bool
	Mode         int // modes that are open (copy mode, choose tree …); 0 is none
	InputOff     bool
	Synchronized bool
	Alternate    bool // the alternate screen is on
	Width        int
	Height       int
	CursorX      int
	CursorY      int
	History      int
	Activity     int64 // seconds since 1970, of the window
	Active       bool  // the active pane of its window
	WindowActive bool
	SessionID    string // "$1"
	WindowID     string // "@3"
	WindowIndex  int
	PaneIndex    int
	TTY          string
	Session      string
	Window       string
	Title        string
	Cwd          string
	Command      string
}

// CaptureOptions say what of a screen is wanted.
type CaptureOptions struct {
	Styled  bool // keep SGR sequences (five times the cost: only at a delivery, never in the loop)
	History int  // lines of scrollback before the visible screen
	Joined  bool // join wrapped lines
}

// Screen is a captured screen, one string a line, without line ends.
type Screen struct {
	Lines []string
}

// Guard is what must still be true of a pane in the very moment of typing; tmux tests it in the same command.
type Guard struct {
	Server  Identity
	Pane    string
	PanePID int
	Marker  string  // the pane's marker must equal this
	Cursor  *Cursor // nil: any
	Command string  // the pane's foreground command must equal this; "", or a name that no format can hold: any
}

// Cursor is a position on the screen, counted from 0.
type Cursor struct{ X, Y int }

// Paste is one piece of text for one pane.
type Paste struct {
	Guard  Guard
	Text   string // clean, not empty; goes in by stdin, never as an argument
	Buffer string // a name that no other delivery uses: letters, digits, dashes
	Marker string // set on the pane when the text was pasted: letters, digits, dots, underscores
}

// Press is one key for one pane.
type Press struct {
	Guard  Guard
	Key    string // "Enter"
	Marker string
}

// Result says what tmux did.
type Result struct {
	Done   bool
	Marker string // the pane's marker as tmux saw it when it refused
	Why    string // for the log, when not done: which part of the guard failed
}

// Client is an attached client.
type Client struct {
	Name     string
	Session  string // id
	Pane     string // id of the active pane it shows
	Activity int64  // seconds since 1970 of the last key
	Control  bool
}
