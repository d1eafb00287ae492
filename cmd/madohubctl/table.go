package main

import (
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
)

// cells measures text in terminal cells. Whether characters of ambiguous width take one cell or two is left at one
// whatever the locale: it is what terminals do unless told otherwise, and output must not depend on LANG.
var cells = func() *runewidth.Condition {
	c := runewidth.NewCondition()
	c.EastAsianWidth = false
	return c
}()

// table is rows of cells that are aligned by what they measure on the terminal.
type table struct {
	header []string
	rows   [][]string
	flex   []int // columns that give way first when the table is too wide
}

func (t *table) add(row ...string) { t.rows = append(t.rows, row) }

const (
	gap     = 2  // cells between columns
	minFlex = 10 // a column that gives way keeps at least this much
)

// table writes a table that fits the width. The last column is not padded.
func (u *ui) table(t table) {
	widths := t.widths(u.width)
	for _, row := range append([][]string{t.header}, t.rows...) {
		var b strings.Builder
		for i, cell := range row {
			if cells.StringWidth(cell) > widths[i] {
				cell = shorten(cell, widths[i])
			}
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", max(widths[i]-cells.StringWidth(cell), 0)+gap))
			}
		}
		u.printf("%s\n", strings.TrimRight(b.String(), " "))
	}
}

// shorten cuts a cell to a width: at its end, but the name of a connection before its last "/", since what follows tells
// the connections of a flow apart.
func shorten(s string, width int) string {
	if i := strings.LastIndexByte(s, '/'); i > 0 && cells.StringWidth(s) > width {
		if room := width - cells.StringWidth(s[i:]); room > 1 {
			return cells.Truncate(s[:i], room-1, "") + "…" + s[i:]
		}
	}
	return cells.Truncate(s, width, "…")
}

// widths are the widths of the columns: what they need, less what the table must save.
func (t *table) widths(most int) []int {
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], cells.StringWidth(cell))
		}
	}
	over := -most - gap
	for _, w := range widths {
		over += w + gap
	}
	for ; over > 0; over-- {
		i := widest(widths, t.flex)
		if i < 0 {
			i = widest(widths, nil)
		}
		if i < 0 {
			break
		}
		widths[i]--
	}
	return widths
}

// widest is the widest of some columns, or of all, that can still give way; -1 if none can.
func widest(widths, of []int) int {
	best := -1
	for i, w := range widths {
		if w > minFlex && (of == nil || slices.Contains(of, i)) && (best < 0 || w > widths[best]) {
			best = i
		}
	}
	return best
}

// wrap breaks a text at spaces so that no line is wider; a word that is wider itself is broken too.
func wrap(s string, width int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(s) {
		for cells.StringWidth(w) > width {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			head := cells.Truncate(w, width, "")
			if head == "" {
				break
			}
			lines, w = append(lines, head), w[len(head):]
		}
		switch {
		case line == "":
			line = w
		case cells.StringWidth(line)+1+cells.StringWidth(w) <= width:
			line += " " + w
		default:
			lines, line = append(lines, line), w
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
