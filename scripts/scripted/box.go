package main

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

// box is the input box. Its cursor is always at the end.
type box struct {
	pieces  []piece
	pastes  int
	stashed []piece
}

func (b *box) empty() bool { return len(b.pieces) == 0 }

func (b *box) clear() { b.pieces = nil }

// insert appends typed text.
func (b *box) insert(s string) {
	if s == "" {
		return
	}
	if n := len(b.pieces); n > 0 && b.pieces[n-1].shown == "" {
		b.pieces[n-1].text += s
		return
	}
	b.pieces = append(b.pieces, piece{text: s})
}

// paste appends one bracketed paste; a big one becomes a placeholder unless the mode is plain.
func (b *box) paste(s, mode string) {
	lines := strings.Count(s, "\n") + 1
	if mode == "plain" || (lines < foldLines && utf8.RuneCountInString(s) <= foldChars) {
		b.insert(s)
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

func (b *box) backspace() {
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

// kill takes the last line away, as C-u does.
func (b *box) kill() {
	n := len(b.pieces)
	if n == 0 {
		return
	}
	last := b.pieces[n-1]
	b.pieces = b.pieces[:n-1]
	if i := strings.LastIndexByte(last.text, '\n'); i >= 0 && last.shown == "" {
		b.insert(last.text[:i])
	}
}

// stash puts the draft aside, or takes it back into an empty box.
func (b *box) stash() {
	b.pieces, b.stashed = b.stashed, b.pieces
}

// shown is the text as the box shows it.
func (b *box) shown() string {
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

// take empties the box and returns the prompt as Claude Code records it: NFC, and big pastes in their frame.
func (b *box) take() string {
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

// wrap lays text out in rows of at most width cells, breaking after spaces where it can.
func wrap(text string, width int) []string {
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

// cells is how wide a terminal shows s.
func cells(s string) int { return uniseg.StringWidth(s) }
