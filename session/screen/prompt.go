package screen

import (
	"context"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/tmux"
)

// Prompt is an empty shell prompt. The zero Prompt says that none was seen.
type Prompt struct {
	Seen   bool
	Row    int    // absolute, counted from the top of the scrollback
	Before string // what stands before the cursor
	pane   tmux.Pane
}

// PromptAt is the prompt at which a shell waits, if nothing is typed there yet.
func PromptAt(p tmux.Pane, sc *agent.Screen, box agent.Box) Prompt {
	if sc == nil || box.Text != "" || box.Overlay || sc.CursorY >= len(sc.Lines) {
		return Prompt{}
	}
	return Prompt{Seen: true, Row: p.History + p.CursorY, Before: strings.TrimSpace(sc.Lines[sc.CursorY]), pane: p}
}

// Below reports whether a prompt stands below an earlier one, as opposed to a screen that was resized or cleared.
func (at Prompt) Below(old Prompt) bool {
	return old.Seen && at.Row > old.Row && at.pane.Width == old.pane.Width && at.pane.Height == old.pane.Height &&
		at.pane.History >= old.pane.History
}

// Command reads the command that was typed at an earlier prompt, and what it has printed until this one. output finds
// what was printed where the earlier prompt is not known.
func (at Prompt) Command(ctx context.Context, conn tmux.Conn, old Prompt, output func([]string) []string) (command string, printed []string, err error) {
	lines, err := Logical(ctx, conn, at.pane.ID)
	if err != nil || len(lines) == 0 {
		return "", nil, err
	}
	body := lines[:len(lines)-1]
	i := -1
	if at.Below(old) {
		i = lineAbove(body, at.Row-old.Row, at.pane.Width)
	}
	if command, ok := typedAt(body, i, old.Before); ok {
		return command, body[i+1:], nil
	}
	for i := len(body) - 1; i >= 0; i-- {
		if command, ok := typedAt(body, i, old.Before); ok && command != "" {
			return command, body[i+1:], nil
		}
	}
	return "", output(lines), nil
}

// Typed is what stands behind an earlier prompt on a screen now.
func (at Prompt) Typed(p tmux.Pane, sc *agent.Screen) string {
	i := at.Row - p.History
	if sc == nil || !at.Seen || i < 0 || i >= len(sc.Lines) {
		return ""
	}
	line := sc.Lines[i]
	for ; i+1 < len(sc.Lines) && uniseg.StringWidth(sc.Lines[i]) >= sc.Width; i++ {
		line += sc.Lines[i+1]
	}
	command, _ := typedAt([]string{line}, 0, at.Before)
	return command
}

// lineAbove is the logical line that begins a number of rows above the end, -1 if no line begins there.
func lineAbove(lines []string, rows, width int) int {
	for i := len(lines) - 1; i >= 0 && rows > 0; i-- {
		rows -= max(1, (uniseg.StringWidth(lines[i])+width-1)/max(1, width))
		if rows == 0 {
			return i
		}
	}
	return -1
}

func typedAt(lines []string, i int, prompt string) (string, bool) {
	if i < 0 || i >= len(lines) || prompt == "" {
		return "", false
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), prompt)
	if !ok {
		return "", false
	}
	return strings.TrimSpace(rest), true
}

// Unwrapped is a screen whose last line, that in which a person or a delivery types, is in one piece although it may
// fill several rows. A kind that reads a prompt needs it so.
func Unwrapped(sc *agent.Screen) *agent.Screen {
	if sc == nil {
		return nil
	}
	last := len(sc.Lines) - 1
	for last >= 0 && strings.TrimSpace(sc.Lines[last]) == "" {
		last--
	}
	first := last
	for first > 0 && uniseg.StringWidth(sc.Lines[first-1]) >= sc.Width {
		first--
	}
	// The cursor is in the row below if the line fills its last row.
	full := last >= 0 && uniseg.StringWidth(sc.Lines[last]) >= sc.Width
	if last < 0 || first == last && !full || sc.CursorY < first || sc.CursorY > last+1 || sc.CursorY == last+1 && !full {
		return sc
	}
	one := *sc
	one.Lines, one.Styled, one.CursorY = append(slices.Clone(sc.Lines[:first]), strings.Join(sc.Lines[first:last+1], "")), nil, first
	return &one
}
