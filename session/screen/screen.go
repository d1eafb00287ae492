// Package screen reads the terminals of panes: rows as they stand, logical lines, what is styled, and whether a text was
// typed and taken where no record tells.
package screen

import (
	"context"
	"fmt"
	"hash/fnv"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rivo/uniseg"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/tmux"
)

// History is how much scrollback is read at most.
const History = 2000

// sgr is what a styled capture adds to the text: SGR sequences, hyperlinks, shifts of the line-drawing set.
var sgr = regexp.MustCompile("\x1b\\[[0-9;:]*m|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[\x0e\x0f]")

// Of is a captured screen as kinds read it.
func Of(p tmux.Pane, lines []string) *agent.Screen {
	return &agent.Screen{Lines: lines, Title: p.Title, CursorX: p.CursorX, CursorY: p.CursorY, Width: p.Width, Height: p.Height}
}

// Styled captures the visible rows of a pane, with and without their colours.
func Styled(ctx context.Context, conn tmux.Conn, p tmux.Pane) (*agent.Screen, error) {
	rows, err := capture(ctx, conn, p.ID, tmux.CaptureOptions{Styled: true})
	if err != nil {
		return nil, err
	}
	sc := Of(p, make([]string, len(rows)))
	for i, row := range rows {
		sc.Lines[i] = strings.TrimRight(sgr.ReplaceAllString(row, ""), " ")
	}
	sc.Styled = rows
	return sc, nil
}

// Logical captures the lines of a pane with its newest scrollback, wraps joined, trailing blanks and blank lines at the
// end cut.
func Logical(ctx context.Context, conn tmux.Conn, id string) ([]string, error) {
	lines, err := capture(ctx, conn, id, tmux.CaptureOptions{Joined: true, History: History})
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ") // -J keeps them
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines, err
}

func capture(ctx context.Context, conn tmux.Conn, id string, opt tmux.CaptureOptions) ([]string, error) {
	screens, err := conn.Capture(ctx, []string{id}, opt)
	if err != nil {
		return nil, fmt.Errorf("read the screen of pane %s: %w", id, err)
	}
	sc, ok := screens[id]
	if !ok {
		return nil, fmt.Errorf("read the screen of pane %s: %w", id, tmux.ErrNoPane)
	}
	return sc.Lines, nil
}

// Last is the newest capture of a pane in a loop, and what the pane looked like then.
type Last struct {
	Screen *agent.Screen
	Pane   tmux.Pane
	Taken  time.Time // before the list that led to it
}

// Stale reports whether the pane may show something else now. Its activity has a resolution of one second, so what
// was captured in the same second is captured again; a change of size or mode is no activity.
func (l *Last) Stale(p tmux.Pane, now time.Time) bool {
	was, is := l.Pane, p
	fresh := l.Screen != nil && p.Activity < l.Taken.Unix() && p.Activity <= now.Unix()
	for _, x := range []*tmux.Pane{&was, &is} { // what tells nothing of the screen
		x.Active, x.WindowActive, x.Session, x.Window, x.Cwd, x.Command = false, false, "", "", "", ""
		x.SessionID, x.WindowID, x.WindowIndex, x.PaneIndex = "", "", 0, 0
	}
	return !fresh || was != is
}

// Place is a place on a terminal without a record: the absolute row of its cursor, counted from the top of the
// scrollback, and what was seen.
type Place struct {
	Row     int
	Seen    string // hash of the visible rows
	History int
}

// Mark notes the present place of a pane.
func Mark(ctx context.Context, conn tmux.Conn, id string) (Place, error) {
	p, rows, err := rowsFrom(ctx, conn, id, -1)
	if err != nil {
		return Place{}, err
	}
	return Place{Row: p.History + p.CursorY, Seen: hash(rows), History: p.History}, nil
}

// Taken reports whether a text was typed at a place and taken: it stands there, and the cursor has left its last row.
func Taken(ctx context.Context, conn tmux.Conn, id string, at Place, text string) (bool, error) {
	p, rows, err := rowsFrom(ctx, conn, id, at.Row)
	if err != nil {
		return false, err
	}
	visible := max(0, len(rows)-p.Height)
	first := p.History + p.Height - len(rows) // absolute number of rows[0]
	end := lastRow(rows, max(0, at.Row-first), text)
	if end < 0 && p.History <= at.History && hash(rows[visible:]) != at.Seen {
		// A scrollback that is full, or was cleared, no longer counts rows: then the last place on the screen must do.
		end = lastRow(rows, visible, text)
	}
	if end < 0 {
		return false, nil
	}
	below := p.History + p.CursorY - (first + end)
	if uniseg.StringWidth(rows[end]) >= p.Width && p.CursorX == 0 {
		below-- // a full row: its cursor waits at the beginning of the next
	}
	return below > 0, nil
}

// rowsFrom captures the rows of a pane from an absolute row on, but at least the visible ones; -1: only these.
func rowsFrom(ctx context.Context, conn tmux.Conn, id string, from int) (tmux.Pane, []string, error) {
	snap, err := conn.List(ctx)
	if err != nil {
		return tmux.Pane{}, nil, err
	}
	p, ok := snap.Pane(id)
	if !ok || p.Dead {
		return tmux.Pane{}, nil, fmt.Errorf("pane %s: %w", id, tmux.ErrNoPane)
	}
	history := 0
	if from >= 0 {
		history = min(History, max(0, p.History-from))
	}
	rows, err := capture(ctx, conn, id, tmux.CaptureOptions{History: history})
	return p, rows, err
}

// lastRow is the row in which the last occurrence of a text ends, blanks and wraps apart; -1 if it is not in rows[from:].
func lastRow(rows []string, from int, text string) int {
	var all strings.Builder
	var ends []int // length of all after each row
	from = min(from, len(rows))
	for _, row := range rows[from:] {
		all.WriteString(squeeze(row))
		ends = append(ends, all.Len())
	}
	want := squeeze(text)
	i := strings.LastIndex(all.String(), want)
	if i < 0 || want == "" {
		return -1
	}
	for row, end := range ends {
		if end >= i+len(want) {
			return from + row
		}
	}
	return -1
}

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

func hash(rows []string) string {
	h := fnv.New64a()
	for _, row := range rows {
		_, _ = h.Write([]byte(row + "\n"))
	}
	return strconv.FormatUint(h.Sum64(), 16)
}
