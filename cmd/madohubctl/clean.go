package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hostile reports whether a terminal might obey a rune, or show what follows it elsewhere: control characters (C0, DEL, C1
// with its one-byte CSI), direction marks and overrides, line separators, tags, and invisible characters. The joiners
// U+200C and U+200D stay: words and emoji need them.
func hostile(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c'
	if r == joiner || r == nonJoiner {
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
}

// clean makes one harmless line of a text from outside: what a terminal would obey becomes visible.
func clean(s string) string {
	if strings.ContainsAny(s, "\n\t\r") {
		s = strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ", "\r", " ").Replace(strings.TrimRight(s, "\r\n"))
	}
	return cleanText(s)
}

// cleanText makes a text of several lines harmless; newlines and tabs stay.
func cleanText(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if !strings.ContainsFunc(s, func(r rune) bool { return hostile(r) && r != '\n' && r != '\t' || r == utf8.RuneError }) {
		return s
	}
	var b strings.Builder
	for _, r := range s { // an invalid byte is ranged over as U+FFFD
		switch {
		case r == '\n' || r == '\t' || !hostile(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}

// escapeJSON escapes in JSON what its encoder leaves as it is although a terminal might obey it. Such runes can stand
// only inside strings, where \u is understood.
func escapeJSON(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7e && hostile(r) || r == 0x7f }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x7f || !hostile(r):
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
