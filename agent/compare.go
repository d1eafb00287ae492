package agent

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// SameText reports whether a prompt in an agent's record is the text that was sent. It forgives what agents are known to
// change and nothing more: NFC, tabs that became four spaces, line ends, one frame around pasted content, blank lines
// before and after the text, and spaces at its end.
func SameText(recorded, sent string) bool {
	want := canonical(sent)
	if canonical(recorded) == want {
		return true
	}
	inner, framed := Unframe(recorded)
	return framed && canonical(inner) == want
}

func canonical(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	s = strings.ReplaceAll(s, "\t", "    ")
	s = strings.TrimRightFunc(s, unicode.IsSpace)
	for {
		line, rest, more := strings.Cut(s, "\n")
		if !more || strings.TrimSpace(line) != "" {
			return norm.NFC.String(s)
		}
		s = rest
	}
}

const (
	frameOpen  = `<pasted_content id="`
	frameClose = `</pasted_content id="`
)

// Unframe removes one frame that Claude Code 2.1.332 may put around a paste of four or more lines or of more than 800
// characters (seen 2026-11-30): \n\n<pasted_content id="28ea">\n…\n</pasted_content id="28ea">\n. The frame must enclose
// the whole text; otherwise the text is returned as it is, and false.
func Unframe(s string) (string, bool) {
	t := strings.TrimSpace(s)
	rest, ok := strings.CutPrefix(t, frameOpen)
	if !ok {
		return s, false
	}
	id, body, ok := strings.Cut(rest, "\">\n")
	if !ok || id == "" || len(id) > 32 || strings.ContainsFunc(id, func(r rune) bool { return !isWord(r) }) {
		return s, false
	}
	body, ok = strings.CutSuffix(body, "\n"+frameClose+id+`">`)
	if !ok {
		return s, false
	}
	return body, true
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

// BoxMatch is how the text in an input box compares with the text that was typed into it.
type BoxMatch int

// The matches.
const (
	BoxDifferent   BoxMatch = iota // anything else, and whatever can't be told: no Enter
	BoxEmpty                       // the box is there and empty
	BoxExact                       // the text and nothing else
	BoxTail                        // the box is scrolled and what is visible is the end of the text
	BoxPlaceholder                 // a placeholder stands for the text, and its line count fits
)

// String names the match for the log.
func (m BoxMatch) String() string {
	return [...]string{"different", "empty", "exact", "tail", "placeholder"}[m]
}

// BoxHolds compares an input box with a text. White space and characters without a glyph don't count, because the agent
// wraps lines and terminals drop such characters; every visible character does.
func BoxHolds(b Box, text string) BoxMatch {
	if !b.Found || b.Overlay {
		return BoxDifferent
	}
	have, want := visible(b.Text), visible(text)
	if b.Pasted > 0 {
		rest, one := cutPlaceholder(b.Text)
		lines := strings.Count(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
		if one && visible(rest) == "" && b.Above == 0 && b.Pasted >= lines && b.Pasted <= lines+1 {
			return BoxPlaceholder
		}
		return BoxDifferent
	}
	switch {
	case have == "" && b.Above == 0:
		return BoxEmpty
	case have == "" || want == "":
		return BoxDifferent
	case b.Above == 0 && have == want:
		return BoxExact
	case b.Above > 0 && strings.HasSuffix(want, have), abridged(have, want, b.Above > 0):
		return BoxTail
	}
	return BoxDifferent
}

// Instead of the middle of a text of over 10,000 characters Claude Code shows "[...Truncated text #1 +103 lines...]"; what
// is submitted is the whole (2.1.197, 2026-11-30). In a scrolled box the note may have lost its beginning.
var (
	truncated    = regexp.MustCompile(`\[\.\.\.Truncatedtext#\d+\+\d+lines\.\.\.\]`)
	truncatedEnd = regexp.MustCompile(`^(text)?(#\d+)?(\+\d+)?lines\.\.\.\]`)
)

// abridged reports whether a box shows a text but for its middle: all parts in their order, up to the very end.
func abridged(have, want string, scrolled bool) bool {
	if scrolled {
		have = truncatedEnd.ReplaceAllString(have, "[...Truncatedtext#0+0lines...]")
	}
	parts := truncated.Split(have, -1)
	end := parts[len(parts)-1]
	if len(parts) < 2 || end == "" || !strings.HasSuffix(want, end) {
		return false
	}
	want = strings.TrimSuffix(want, end)
	for i, part := range parts[:len(parts)-1] {
		at := strings.Index(want, part)
		if at < 0 || i == 0 && !scrolled && at > 0 {
			return false
		}
		want = want[at+len(part):]
	}
	return true
}

// visible keeps what shows as ink, in NFC.
func visible(s string) string {
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) || noGlyph(r) {
			return -1
		}
		return r
	}, s))
}

// noGlyph reports whether a character never has a glyph of its own: format characters (but for Arabic number signs and
// their like), joiners, selectors, fillers.
func noGlyph(r rune) bool {
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) || unicode.Is(unicode.Variation_Selector, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}
