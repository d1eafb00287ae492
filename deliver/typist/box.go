package typist

import (
	"strings"

	"github.com/rivo/uniseg"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/session"
)

// ours reports whether an input holds our text, as far as it shows it.
func ours(m agent.BoxMatch) bool { return m == agent.BoxExact || partly(m) }

// partly reports whether an input shows a part of our text only: the rest is scrolled out, or behind a placeholder.
func partly(m agent.BoxMatch) bool { return m == agent.BoxTail || m == agent.BoxPlaceholder }

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
func screenContent(all, before, text string) agent.BoxMatch {
	lines := strings.Split(text, "\n")
	last := squeeze(lines[len(lines)-1])
	switch {
	case before != "" && strings.HasSuffix(all, before+squeeze(text)):
		return agent.BoxExact
	case len(lines) > 1 && before != "" && last != "" && strings.HasSuffix(all, last):
		return agent.BoxTail
	case before != "" && strings.HasSuffix(all, before):
		return agent.BoxEmpty
	}
	return agent.BoxDifferent
}

// EndsWith reports whether what stands before a cursor (without blanks) ends with a text.
func EndsWith(all, text string) bool { return strings.HasSuffix(all, squeeze(text)) }
