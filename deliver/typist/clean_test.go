package typist

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/madohub/madohub/agent"
)

func TestClean(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		removed        int
	}{
		{"plain", "it's; #{pane_id} $HOME `x` \"q\" } ~ %1 -R --", "it's; #{pane_id} $HOME `x` \"q\" } ~ %1 -R --", 0},
		{"printable", "é e\u0301 日本 👨‍👩‍👧 🇯🇵 مرحبا\u200f a\u00a0b \u200bz", "é e\u0301 日本 👨‍👩‍👧 🇯🇵 مرحبا\u200f a\u00a0b \u200bz", 0},
		{"line ends", "a\r\nb\rc\nd\u2028e\u2029f\n\n\r\n", "a\nb\nc\nd\ne\nf", 0},
		{"tab", "a\tb", "a\tb", 0},
		{"end of paste", "evil1 \x1b[201~ZZ\revil2", "evil1 ZZ\nevil2", 1},
		{"8-bit end of paste", "x\u009b201~y", "xy", 1},
		{"split sequence", "\x1b\x1b[0m[201~x", "[201~x", 2},
		{"colours", "\x1b[1;31mred\x1b[0m", "red", 2},
		{"title", "\x1b]0;evil\x07x\x1b]8;;http://a\x1b\\y", "xy", 2},
		{"8-bit title", "\u009d0;evil\u009cx", "x", 1},
		{"device string", "\x1bPq#0\x1b\\x", "x", 1},
		{"string without an end", "\x1b]0;not a title\nnext", "0;not a title\nnext", 1},
		{"charset", "\x1b(Bx\x1b=y", "xy", 2},
		{"escape at the end", "x\x1b", "x", 1},
		{"unfinished", "x\x1b[31", "x", 1},
		{"controls", "a\x00\x03\x04\x07\x08\x0b\x0c\x7fb", "ab", 8},
		{"C1", "a\u0085\u0080b", "ab", 2},
		{"bidi", "a\u202eb\u2066c\u2069", "abc", 3},
		{"tags", "a\U000e0041\U000e007fb", "ab", 2},
		{"bom", "\ufeffa", "a", 1},
		{"not utf-8", "a\xff\xc3b\xed\xa0\x80c", "abc", 5},
		{"bytes that would join", "\xc3\x1b[0m\xa9", "", 3},
		{"not characters", "a\ufffe\ufdd0b", "ab", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, removed := Clean(c.in)
			if got != c.want || removed != c.removed {
				t.Errorf("got %q, %d removed; want %q, %d", got, removed, c.want, c.removed)
			}
		})
	}
}

var harmless = regexp.MustCompile(`^[\t\n\x20-\x7e\x{a0}-\x{10ffff}]*$`)

func FuzzClean(f *testing.F) {
	for _, s := range []string{"a\x1b[201~b", "\x1b]0;x\x07y", "\u009b1m\u009d", "a\r\nb\x00", "\xff\x1b\x1b[\x1b]", "é日👨‍👩‍👧\u202e", "\x1b[;;;;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out, removed := Clean(in)
		if !utf8.ValidString(out) || !harmless.MatchString(out) || strings.HasSuffix(out, "\n") {
			t.Errorf("%q became %q", in, out)
		}
		for _, r := range out {
			if unsafeRune(r) {
				t.Errorf("%q became %q, with %U", in, out, r)
			}
		}
		if again, n := Clean(out); again != out || n != 0 {
			t.Errorf("%q cleaned twice is %q", out, again)
		}
		if harmless.MatchString(in) && removed == 0 && !strings.ContainsAny(in, "\u2028\u2029") && strings.TrimRight(in, "\n") != out {
			t.Errorf("harmless %q became %q", in, out)
		}
	})
}

func lines(limit int) agent.Text { return agent.Text{Mode: "lines", MaxPiece: limit} }

func TestSplit(t *testing.T) {
	family := "👨‍👩‍👧"
	for _, c := range []struct {
		name, in string
		t        agent.Text
		want     []string
	}{
		{"lines", "a\n\nb", lines(800), []string{"a\n", "\n", "b"}},
		{"paste", "a\n\nb", agent.Text{Mode: "paste"}, []string{"a\n\nb"}},
		{"long line", "abcdefg\nh", lines(3), []string{"abc", "def", "g\n", "h"}},
		{"clusters stay whole", family + family + family, lines(17), []string{family + family, family}},
		{"combining", strings.Repeat("e\u0301", 3), lines(3), []string{"e\u0301", "e\u0301", "e\u0301"}},
		{"a cluster that is too long", "a" + strings.Repeat("\u0301", 5), lines(4), []string{"a" + strings.Repeat("\u0301", 3), strings.Repeat("\u0301", 2)}},
		{"too long for lines", strings.Repeat("a\n", 300) + "b", agent.Text{Mode: "lines", LineDelayMax: 80e6, MaxDuration: 20e9}, []string{strings.Repeat("a\n", 300) + "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := split(c.in, c.t)
			if strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("a\n\nbcd é👨‍👩‍👧", 3)
	f.Add(strings.Repeat("\u0301", 50)+"\n\n", 7)
	f.Fuzz(func(t *testing.T, in string, limit int) {
		in, _ = Clean(in)
		if limit < 2 || limit > 2000 || in == "" {
			return
		}
		got := split(in, lines(limit))
		if strings.Join(got, "") != in {
			t.Fatalf("%q became %q", in, got)
		}
		for i, p := range got {
			if p == "" || units(p) > limit || !utf8.ValidString(p) || strings.Contains(strings.TrimSuffix(p, "\n"), "\n") {
				t.Errorf("piece %d is %q", i, p)
			}
		}
	})
}

func TestReached(t *testing.T) {
	pieces := []string{"ab", "c\n", "\n", "d"}
	for k, want := range []int{0, 1, 1, 2, 3} {
		if line, of := reached(pieces, k); line != want || of != 3 {
			t.Errorf("after %d pieces: line %d of %d, want %d", k, line, of, want)
		}
	}
}

func TestScreenContent(t *testing.T) {
	for _, c := range []struct {
		all, before, text string
		want              agent.BoxMatch
	}{
		{"old$makeall", "$", "make all", agent.BoxExact},
		{"old$makeallx", "$", "make all", agent.BoxDifferent},
		{"old$rmmakeall", "$", "make all", agent.BoxDifferent},
		{"old$", "$", "make all", agent.BoxEmpty},
		{"old$makeall", "", "make all", agent.BoxDifferent},
		{"$make>two", "$", "make\ntwo", agent.BoxTail},
	} {
		if got := screenContent(c.all, c.before, c.text); got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}
