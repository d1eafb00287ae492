package term

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/text/unicode/norm"
)

// A paste of this size is shown as a placeholder by Claude Code 2.1.332.
const (
	foldLines = 4
	foldChars = 800
)

// piece is a part of the box that was typed, or one paste that a placeholder stands for.
type piece struct {
	text  string
	shown string // "": the text itself
	id    string // frame of the paste in the record
}

// Box is the input box. Its cursor is always at the end.
type Box struct {
	pieces  []piece
	pastes  int
	stashed []piece
}

// Empty reports whether nothing stands in the box.
func (b *Box) Empty() bool { return len(b.pieces) == 0 }

// Clear takes everything away.
func (b *Box) Clear() { b.pieces = nil }

// Insert appends typed text.
func (b *Box) Insert(s string) {
	if s == "" {
		return
	}
	if n := len(b.pieces); n > 0 && b.pieces[n-1].shown == "" {
		b.pieces[n-1].text += s
		return
	}
	b.pieces = append(b.pieces, piece{text: s})
}

// Paste appends one bracketed paste; a big one becomes a placeholder unless the mode is plain.
func (b *Box) Paste(s, mode string) {
	lines := strings.Count(s, "\n") + 1
	if mode == "plain" || (lines < foldLines && utf8.RuneCountInString(s) <= foldChars) {
		b.Insert(s)
		return
	}
	b.pastes++
	p := piece{text: s, shown: fmt.Sprintf("[Pasted text #%d]", b.pastes)}
	if lines > 1 {
		p.shown = fmt.Sprintf("[Pasted text #%d +%d lines]", b.pastes, lines-1)
	}
	if mode == "framed" {
		p.id = fmt.Sprintf("%04x", 0x28e9+b.pastes)
	}
	b.pieces = append(b.pieces, p)
}

// Backspace takes the last character, or the last placeholder, away.
func (b *Box) Backspace() {
	n := len(b.pieces)
	if n == 0 {
		return
	}
	last := &b.pieces[n-1]
	if last.shown == "" {
		g := uniseg.NewGraphemes(last.text)
		start := 0
		for g.Next() {
			start, _ = g.Positions()
		}
		last.text = last.text[:start]
	}
	if last.shown != "" || last.text == "" {
		b.pieces = b.pieces[:n-1]
	}
}

// Kill takes the last line away, as C-u does.
func (b *Box) Kill() {
	n := len(b.pieces)
	if n == 0 {
		return
	}
	last := b.pieces[n-1]
	b.pieces = b.pieces[:n-1]
	if i := strings.LastIndexByte(last.text, '\n'); i >= 0 && last.shown == "" {
		b.Insert(last.text[:i])
	}
}

// Stash puts the draft aside, or takes it back into an empty box.
func (b *Box) Stash() {
	b.pieces, b.stashed = b.stashed, b.pieces
}

// Shown is the text as the box shows it.
func (b *Box) Shown() string {
	var s strings.Builder
	for _, p := range b.pieces {
		if p.shown != "" {
			s.WriteString(p.shown)
		} else {
			s.WriteString(p.text)
		}
	}
	return s.String()
}

// Take empties the box and returns the prompt as Claude Code records it: NFC, and big pastes in their frame.
func (b *Box) Take() string {
	var s strings.Builder
	for _, p := range b.pieces {
		if p.id != "" {
			fmt.Fprintf(&s, "\n\n<pasted_content id=%q>\n%s\n</pasted_content id=%q>\n", p.id, p.text, p.id)
		} else {
			s.WriteString(norm.NFC.String(p.text))
		}
	}
	b.pieces = b.stashed // a stashed draft comes back after the submit
	b.stashed = nil
	return s.String()
}

// Wrap lays text out in rows of at most width cells, breaking after spaces where it can.
func Wrap(text string, width int) []string {
	var rows []string
	for _, line := range strings.Split(text, "\n") {
		rows = append(rows, wrapLine(line, max(width, 4))...)
	}
	return rows
}

func wrapLine(line string, width int) []string {
	var rows []string
	row, cells := "", 0
	flush := func() { rows, row, cells = append(rows, row), "", 0 }
	for _, word := range words(line) {
		w := uniseg.StringWidth(word)
		if cells > 0 && cells+w > width {
			flush()
		}
		if w <= width {
			row, cells = row+word, cells+w
			continue
		}
		for g := uniseg.NewGraphemes(word); g.Next(); {
			if cells+g.Width() > width {
				flush()
			}
			row, cells = row+g.Str(), cells+g.Width()
		}
	}
	flush()
	return rows
}

// words cuts a line behind each run of spaces.
func words(line string) []string {
	var out []string
	start := 0
	for i := 1; i < len(line); i++ {
		if line[i-1] == ' ' && line[i] != ' ' {
			out = append(out, line[start:i])
			start = i
		}
	}
	return append(out, line[start:])
}

// Cells is how wide a terminal shows s.
func Cells(s string) int { return uniseg.StringWidth(s) }
