package main

import (
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
	flex   []int // columns that give way first when the table is too wide, in this order
}

func (t *table) add(row ...string) { t.rows = append(t.rows, row) }

const (
	gap     = 2 // cells between columns
	minFlex = 8 // a column that gives way keeps at least this much
)

// table writes a table that fits the width. The last column is not padded.
func (u *ui) table(t table) {
	widths := t.widths(u.width)
	for _, row := range append([][]string{t.header}, t.rows...) {
		var b strings.Builder
		for i, cell := range row {
			if cells.StringWidth(cell) > widths[i] {
				cell = cells.Truncate(cell, widths[i], "…")
			}
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", max(widths[i]-cells.StringWidth(cell), 0)+gap))
			}
		}
		u.printf("%s\n", strings.TrimRight(b.String(), " "))
	}
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
	for _, i := range t.flex {
		save := min(max(over, 0), max(widths[i]-max(minFlex, cells.StringWidth(t.header[i])), 0))
		widths[i] -= save
		over -= save
	}
	for over > 0 {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= minFlex {
			break
		}
		widths[widest]--
		over--
	}
	return widths
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
