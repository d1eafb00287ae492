package agent

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestSameText(t *testing.T) {
	frame := func(s string) string {
		return "\n\n<pasted_content id=\"28ea\">\n" + s + "\n</pasted_content id=\"28ea\">\n"
	}
	tests := []struct {
		name, recorded, sent string
		want                 bool
	}{
		{"same", "go", "go", true},
		{"other", "go", "stop", false},
		{"case", "Go", "go", false},
		{"NFC", "caf\u00e9", "cafe\u0301", true},
		{"compatibility forms are not the same", "fi", "\ufb01", false},
		{"tab became four spaces", "a    b", "a\tb", true},
		{"a tab is not three spaces", "a   b", "a\tb", false},
		{"line ends", "a\nb", "a\r\nb", true},
		{"blank lines around", "a", "\n\na\n\n", true},
		{"spaces at the end", "a", "a  ", true},
		{"spaces at the beginning count", "a", "  a", false},
		{"inner blank lines count", "a\nb", "a\n\nb", false},
		{"inner spaces count", "a b", "a  b", false},
		{"framed", frame("a\nb\nc\nd"), "a\nb\nc\nd", true},
		{"frame around something else", frame("a\nb\nc\nX"), "a\nb\nc\nd", false},
		{"frame and more", frame("a") + "b", "a", false},
		{"a frame with two ids", strings.Replace(frame("a"), "28ea", "28eb", 1), "a", false},
		{"a frame is taken off once", frame(frame("a")), "a", false},
		{"a frame that was sent itself", frame("a"), frame("a"), true},
		{"a frame that was sent and framed", frame(strings.TrimSpace(frame("a"))), frame("a"), true},
		{"appended to a draft", "my draft go", "go", false},
		{"cut", "g", "go", false},
		{"empty", "", "", true},
		{"empty is not a text", "", "go", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := SameText(tt.recorded, tt.sent); got != tt.want {
				t.Errorf("SameText(%q, %q) = %v", tt.recorded, tt.sent, got)
			}
		})
	}
}

func TestBoxHolds(t *testing.T) {
	box := func(text string) Box { return Box{Found: true, Text: text} }
	tests := []struct {
		name string
		box  Box
		text string
		want BoxMatch
	}{
		{"empty", box(""), "go", BoxEmpty},
		{"exact", box("go on"), "go on", BoxExact},
		{"wrapped", box("go\non"), "go on", BoxExact},
		{"joiners have no ink", box("👩💻 x"), "👩\u200d💻 x", BoxExact},
		{"NFC", box("\u00e9"), "e\u0301", BoxExact},
		{"appended to a draft", box("draft go on"), "go on", BoxDifferent},
		{"typed behind", box("go on!"), "go on", BoxDifferent},
		{"part", box("go"), "go on", BoxDifferent},
		{"no box", Box{Text: "go on"}, "go on", BoxDifferent},
		{"menu over it", Box{Found: true, Text: "go on", Overlay: true}, "go on", BoxDifferent},
		{"scrolled", Box{Found: true, Text: "on", Above: 3}, "go on", BoxTail},
		{"scrolled, other end", Box{Found: true, Text: "off", Above: 3}, "go on", BoxDifferent},
		{"scrolled, nothing to see", Box{Found: true, Above: 3}, "go on", BoxDifferent},
		{"not scrolled, only the end", box("on"), "go on", BoxDifferent},
		{"placeholder", Box{Found: true, Text: "[Pasted text #1 +2 lines]", Pasted: 3}, "a\nb\nc", BoxPlaceholder},
		{"placeholder of one long line", Box{Found: true, Text: "[Pasted text #7]", Pasted: 1}, "a long line", BoxPlaceholder},
		{"placeholder, other count", Box{Found: true, Text: "[Pasted text #1 +12 lines]", Pasted: 13}, "a\nb\nc", BoxDifferent},
		{"placeholder and more", Box{Found: true, Text: "[Pasted text #1 +2 lines] x", Pasted: 3}, "a\nb\nc", BoxDifferent},
		{"truncated", box("go on [...Truncated text\n#1 +103 lines...] the end"), "go on and on and on to the end", BoxTail},
		{"truncated, other beginning", box("so on [...Truncated text #1 +103 lines...] the end"), "go on and on and on to the end", BoxDifferent},
		{"truncated, other end", box("go on [...Truncated text #1 +103 lines...] the end!"), "go on and on and on to the end", BoxDifferent},
		{"truncated, no end", box("go on [...Truncated text #1 +103 lines...]"), "go on and on and on to the end", BoxDifferent},
		{"truncated, typed before", box("x go on [...Truncated text #1 +3 lines...] end"), "go on and on x go on to the end", BoxDifferent},
		{"truncated and scrolled", Box{Found: true, Text: "on an[...Truncated text #2 +9 lines...]nd", Above: 9}, "go on and on and on to the end", BoxTail},
		{"truncated, the note half scrolled out", Box{Found: true, Text: "#1 +103 lines...] the end", Above: 9}, "go on and to the end", BoxTail},
		{"truncated, half scrolled out, other end", Box{Found: true, Text: "#1 +103 lines...] the end!", Above: 9}, "go on and to the end", BoxDifferent},
		{"truncated, not of our text", Box{Found: true, Text: "x[...Truncated text #2 +9 lines...]nd", Above: 9}, "go on and on and on to the end", BoxDifferent},
		{"two placeholders", Box{Found: true, Text: "[Pasted text #1 +1 lines][Pasted text #2]", Pasted: 3}, "a\nb\nc", BoxDifferent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := BoxHolds(tt.box, tt.text); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// inked are characters that show and that no normalisation merges.
var inked = rapid.RuneFrom([]rune("abcXYZ012.,;!?/#$\"'`(){}<>─❯語日本ねこ한글éßñ🎈🚀"))

// However the box wraps a text, it is exact; with one visible character added, taken out or changed it never is.
func TestBoxHoldsNoticesEveryCharacter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		any := rapid.StringOfN(rapid.OneOf(inked, rapid.RuneFrom([]rune(" \n\t"))), 1, 200, -1)
		text := []rune(any.Filter(func(s string) bool { return strings.TrimSpace(s) != "" }).Draw(t, "text"))
		width := rapid.IntRange(1, 60).Draw(t, "width")
		if got := BoxHolds(Box{Found: true, Text: wrapped(text, width)}, string(text)); got != BoxExact {
			t.Fatalf("wrapped text is %s", got)
		}
		i := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		r := inked.Draw(t, "rune")
		added := append(append(append([]rune(nil), text[:i]...), r), text[i:]...)
		if got := BoxHolds(Box{Found: true, Text: wrapped(added, width)}, string(text)); got != BoxDifferent {
			t.Fatalf("added %q: %s", r, got)
		}
		if unicode.IsSpace(text[i]) || r == text[i] {
			return
		}
		changed := append([]rune(nil), text...)
		changed[i] = r
		if got := BoxHolds(Box{Found: true, Text: wrapped(changed, width)}, string(text)); got != BoxDifferent {
			t.Fatalf("changed %q to %q: %s", text[i], r, got)
		}
		removed := append(append([]rune(nil), text[:i]...), text[i+1:]...)
		if got := BoxHolds(Box{Found: true, Text: wrapped(removed, width)}, string(text)); got == BoxExact {
			t.Fatalf("removed %q: %s", text[i], got)
		}
	})
}

func wrapped(text []rune, width int) string {
	var b strings.Builder
	for i, r := range text {
		if i > 0 && i%width == 0 {
			b.WriteByte('\n')
		}
		if r == '\t' {
			b.WriteString("    ")
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// SameText must hold for whatever an agent may make of a text, and for nothing with another character in it.
func TestSameTextProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.OneOf(inked, rapid.RuneFrom([]rune(" \n\t"))), 0, 100, -1).Draw(t, "text")
		recorded := norm.NFC.String(strings.ReplaceAll(text, "\t", "    "))
		if rapid.Bool().Draw(t, "framed") {
			recorded = "\n\n" + frameOpen + "0a1b\">\n" + recorded + "\n" + frameClose + "0a1b\">\n"
		} else if rapid.Bool().Draw(t, "trimmed") {
			recorded = strings.TrimRight(recorded, " \n")
		}
		if !SameText(recorded, text) {
			t.Fatalf("SameText(%q, %q) is false", recorded, text)
		}
		i := rapid.IntRange(0, len(recorded)).Draw(t, "at")
		other := recorded[:i] + "Q" + recorded[i:]
		if SameText(other, text) {
			t.Fatalf("SameText(%q, %q) is true", other, text)
		}
	})
}
