package typist

import (
	"strings"

	"github.com/rivo/uniseg"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/session"
)

// content says what stands in the input of a target, compared with what should.
type content int

const (
	other content = iota // something else, or more, or less
	empty
	same // exactly our text, as far as the box shows it
	tail // its end: the rest is scrolled out, or behind a placeholder
)

func (c content) ours() bool { return c == same || c == tail }

// boxContent compares an input box with a text.
func boxContent(b agent.Box, text string) content {
	switch agent.BoxHolds(b, text) {
	case agent.BoxEmpty:
		return empty
	case agent.BoxExact:
		return same
	case agent.BoxTail, agent.BoxPlaceholder:
		return tail
	}
	return other
}

// blank reports whether a box that was read holds nothing.
func blank(b agent.Box) bool { return b.Text == "" && b.Pasted == 0 && b.Above == 0 }

// typedUpTo is what stands on a screen before its cursor, without blanks: wraps, padding and the width that a terminal gives
// to a tab don't matter then. It is all that is known of a target whose input box can't be read.
func typedUpTo(lines []string, v session.View) (all, row string) {
	y := min(v.Pane.CursorY, len(lines)-1)
	if y < 0 {
		return "", ""
	}
	row = squeeze(columns(lines[y], v.Pane.CursorX))
	return squeeze(strings.Join(lines[:y], "")) + row, row
}

// columns is the part of a line in front of a column.
func columns(line string, x int) string {
	width, state, rest := 0, -1, line
	for rest != "" {
		_, next, w, s := uniseg.FirstGraphemeClusterInString(rest, state)
		if width+w > x {
			break
		}
		width += w
		rest, state = next, s
	}
	return line[:len(line)-len(rest)]
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// screenContent compares what stands before the cursor with a text that was typed after a prompt. before is the prompt's own
// row as it was at the gate; "" if that is not known, and then nothing is proven.
func screenContent(all, before, text string) content {
	lines := strings.Split(text, "\n")
	last := squeeze(lines[len(lines)-1])
	switch {
	case before != "" && strings.HasSuffix(all, before+squeeze(text)):
		return same
	case len(lines) > 1 && before != "" && last != "" && strings.HasSuffix(all, last):
		return tail
	case before != "" && strings.HasSuffix(all, before):
		return empty
	}
	return other
}

// EndsWith reports whether what stands before a cursor (without blanks) ends with a text.
func EndsWith(all, text string) bool { return strings.HasSuffix(all, squeeze(text)) }
