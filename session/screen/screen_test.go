package screen

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/tmux"
)

// conn is one pane of 10 columns and 4 rows over any scrollback.
type conn struct {
	tmux.Conn
	rows []string // scrollback and screen
	x, y int
}

func (c *conn) pane() tmux.Pane {
	return tmux.Pane{ID: "%1", Width: 10, Height: 4, History: len(c.rows) - 4, CursorX: c.x, CursorY: c.y}
}

func (c *conn) List(context.Context) (tmux.Snapshot, error) {
	return tmux.Snapshot{Panes: []tmux.Pane{c.pane()}}, nil
}

func (c *conn) Capture(_ context.Context, _ []string, opt tmux.CaptureOptions) (map[string]tmux.Screen, error) {
	return map[string]tmux.Screen{"%1": {Lines: c.rows[max(0, len(c.rows)-4-opt.History):]}}, nil
}

func TestTaken(t *testing.T) {
	tests := []struct {
		name   string
		before conn // what Mark sees
		after  conn
		text   string
		want   bool
	}{
		{"typed, no Enter", conn{rows: []string{"$", "", "", ""}, x: 2}, conn{rows: []string{"$ make", "", "", ""}, x: 6}, "make", false},
		{"taken, output", conn{rows: []string{"$", "", "", ""}, x: 2}, conn{rows: []string{"$ make", "built", "$", ""}, x: 2, y: 2}, "make", true},
		{"taken, runs silently", conn{rows: []string{"$", "", "", ""}, x: 2}, conn{rows: []string{"$ make", "", "", ""}, y: 1}, "make", true},
		{"the same command above the mark", conn{rows: []string{"$ make", "$", "", ""}, x: 2, y: 1}, conn{rows: []string{"$ make", "$ make", "", ""}, x: 6, y: 1}, "make", false},
		{"nothing typed", conn{rows: []string{"$ make", "$", "", ""}, x: 2, y: 1}, conn{rows: []string{"$ make", "$", "", ""}, x: 2, y: 1}, "make", false},
		{"wrapped", conn{rows: []string{"$", "", "", ""}, x: 2}, conn{rows: []string{"$ make all", " quickly", "$", ""}, x: 2, y: 2}, "make all quickly", true},
		{"wrapped, no Enter", conn{rows: []string{"$", "", "", ""}, x: 2}, conn{rows: []string{"$ make all", " quickly", "", ""}, x: 8, y: 1}, "make all quickly", false},
		{"fills its row, no Enter", conn{rows: []string{"$", "", "", ""}, x: 2}, conn{rows: []string{"$ 12345678", "", "", ""}, y: 1}, "12345678", false},
		{"fills its row, taken", conn{rows: []string{"$", "", "", ""}, x: 2}, conn{rows: []string{"$ 12345678", "$", "", ""}, x: 2, y: 1}, "12345678", true},
		{"scrolled away", conn{rows: []string{"$", "", "", ""}, x: 2}, conn{rows: []string{"$ seq", "1", "2", "3", "4", "5", "$", ""}, x: 2, y: 2}, "seq", true},
		{"scrollback is full", conn{rows: []string{"old", "old", "old", "old", "$"}, x: 2, y: 3}, conn{rows: []string{"old", "old", "$ ls", "x", "$"}, x: 2, y: 3}, "ls", true},
		{"scrollback is full, no Enter", conn{rows: []string{"old", "old", "$ ls", "x", "$"}, x: 2, y: 3}, conn{rows: []string{"old", "old", "$ ls", "x", "$ ls"}, x: 4, y: 3}, "ls", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			at, err := Mark(context.Background(), &tt.before, "%1")
			if err != nil {
				t.Fatal(err)
			}
			got, err := Taken(context.Background(), &tt.after, "%1", at, tt.text)
			if err != nil || got != tt.want {
				t.Errorf("Taken = %t, %v; want %t", got, err, tt.want)
			}
		})
	}
}

func TestStale(t *testing.T) {
	at := time.Unix(1000, 0)
	seen := tmux.Pane{ID: "%1", PID: 7, Activity: 990, Width: 80, Height: 24}
	last := Last{Screen: &agent.Screen{}, Pane: seen, Taken: at}
	tests := []struct {
		name   string
		change func(p *tmux.Pane)
		want   bool
	}{
		{"nothing", func(*tmux.Pane) {}, false},
		{"activity in the second of the capture", func(p *tmux.Pane) { p.Activity = 1000 }, true},
		{"activity in the future", func(p *tmux.Pane) { p.Activity = 5000 }, true},
		{"size", func(p *tmux.Pane) { p.Width = 40 }, true},
		{"mode", func(p *tmux.Pane) { p.Mode = 1 }, true},
		{"another process", func(p *tmux.Pane) { p.PID = 8 }, true},
		{"a person looks at another window", func(p *tmux.Pane) { p.WindowActive, p.Active = true, true }, false},
		{"renamed", func(p *tmux.Pane) { p.Session, p.WindowIndex = "x", 4 }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := seen
			tt.change(&p)
			if got := last.Stale(p, at.Add(time.Second)); got != tt.want {
				t.Errorf("Stale = %t, want %t", got, tt.want)
			}
		})
	}
}

func TestUnwrapped(t *testing.T) {
	tests := []struct {
		name string
		rows []string
		y    int
		want []string
	}{
		{"short", []string{"out", "$ ls", ""}, 1, []string{"out", "$ ls", ""}},
		{"two rows", []string{"out", "$ 12345678", "90", ""}, 2, []string{"out", "$ 1234567890"}},
		{"full row", []string{"$ 12345678", ""}, 1, []string{"$ 12345678"}},
		{"cursor elsewhere", []string{"$ 12345678", "90", "", ""}, 3, []string{"$ 12345678", "90", "", ""}},
		{"wide characters", []string{"$ 日本語テ", "キスト"}, 1, []string{"$ 日本語テキスト"}},
		{"blank", []string{"", ""}, 0, []string{"", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Unwrapped(&agent.Screen{Lines: tt.rows, CursorY: tt.y, Width: 10, Height: len(tt.rows)})
			if diff := cmp.Diff(tt.want, got.Lines); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if len(got.Lines) != len(tt.rows) && got.CursorY != len(got.Lines)-1 {
				t.Errorf("cursor in row %d of %d", got.CursorY, len(got.Lines))
			}
		})
	}
}

func TestStyledIsPlainToo(t *testing.T) {
	c := &conn{rows: []string{"\x1b[1mbold\x1b[0m \x1b[38;5;1mred\x1b[39m  ", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "\x0eqqq\x0f", ""}}
	sc, err := Styled(context.Background(), c, c.pane())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"bold red", "link", "qqq", ""}, sc.Lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(sc.Styled[0], "\x1b[1m") {
		t.Errorf("styled is %q", sc.Styled[0])
	}
}

func TestTypedAtAPrompt(t *testing.T) {
	p := tmux.Pane{ID: "%1", Width: 10, Height: 4, CursorX: 2}
	at := PromptAt(p, &agent.Screen{Lines: []string{"$", "", "", ""}}, agent.Box{})
	for _, tt := range []struct {
		rows []string
		want string
	}{
		{[]string{"$ make", "", "", ""}, "make"},
		{[]string{"$ make all", " quickly", "", ""}, "make all quickly"},
		{[]string{"60", "$", "", ""}, ""}, // the screen has scrolled since the list
		{[]string{"$", "", "", ""}, ""},
	} {
		if got := at.Typed(p, &agent.Screen{Lines: tt.rows, Width: 10}); got != tt.want {
			t.Errorf("typed on %q is %q, want %q", tt.rows, got, tt.want)
		}
	}
}
