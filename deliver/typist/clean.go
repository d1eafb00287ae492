package typist

import (
	"strings"
	"unicode/utf8"
)

// maxSequence bounds the string part of an escape sequence: what is longer, or is broken by a line end, was never a sequence
// of a terminal, and swallowing it would lose text.
const maxSequence = 4096

// Clean makes a text safe to be pasted: valid UTF-8, LF line ends, and nothing in it that a terminal or a program could take
// for a key or a command. tmux 3.3a passes a paste unfiltered (2026-11-30): an embedded ESC [ 201 ~ would end the bracketed
// paste and what follows would be keys. The result has no trailing line ends; the second result counts what was removed.
func Clean(text string) (string, int) {
	var b strings.Builder
	b.Grow(len(text))
	removed := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			removed++
		case r == '\r':
			if i+1 >= len(text) || text[i+1] != '\n' {
				b.WriteByte('\n')
			}
		case r == '\u2028' || r == '\u2029':
			b.WriteByte('\n')
		case r == 0x1b || r == 0x9b || r == 0x9d || r == 0x90 || r == 0x98 || r == 0x9e || r == 0x9f:
			size = sequence(text[i:], r, size)
			removed++
		case unsafeRune(r):
			removed++
		default:
			b.WriteString(text[i : i+size])
		}
		i += size
	}
	return strings.TrimRight(b.String(), "\n"), removed
}

// unsafeRune says which characters never reach a pane: controls, what reorders text before a reader's eyes, and what is
// invisible to a person but not to a model.
func unsafeRune(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f: // C0, DEL, C1
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // bidi embeddings, overrides, isolates
		return true
	case r >= 0xe0000 && r <= 0xe007f: // tag characters
		return true
	case r == 0xfeff, r >= 0xfff9 && r <= 0xfffb: // byte order mark, interlinear annotation
		return true
	}
	return r&0xfffe == 0xfffe || r >= 0xfdd0 && r <= 0xfdef // not characters at all
}

// sequence is the length of the escape sequence at the start of s, whose introducer r is intro bytes long.
func sequence(s string, r rune, intro int) int {
	i := intro
	if r == 0x1b {
		if i >= len(s) {
			return i
		}
		switch s[i] {
		case '[':
			return control(s, i+1)
		case ']', 'P', 'X', '^', '_':
			return stringSequence(s, i+1)
		}
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
			i++
		}
		if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
			return i + 1
		}
		return intro
	}
	if r == 0x9b {
		return control(s, i)
	}
	return stringSequence(s, i)
}

// control is the end of a control sequence whose parameters begin at i.
func control(s string, i int) int {
	start := i
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x3f {
		i++
	}
	if i-start > maxSequence {
		return start
	}
	if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
		return i + 1
	}
	return i
}

// stringSequence is the end of an operating-system command or its like, whose string begins at i. One without an end loses
// only its introducer: the rest is text.
func stringSequence(s string, i int) int {
	for j := i; j < len(s) && j-i <= maxSequence; j++ {
		switch {
		case s[j] == 0x07:
			return j + 1
		case s[j] == 0x1b && j+1 < len(s) && s[j+1] == '\\':
			return j + 2
		case strings.HasPrefix(s[j:], "\u009c"):
			return j + len("\u009c")
		case s[j] == 0x1b || s[j] == '\n' || s[j] == '\r':
			return i
		}
	}
	return i
}

// spaced replaces tabs, each of which would be a key (completion) for a shell that does not frame pastes.
func spaced(text string) (string, int) {
	n := strings.Count(text, "\t")
	return strings.ReplaceAll(text, "\t", " "), n
}
