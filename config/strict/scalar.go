package strict

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// scalar gives the text of a string value.
func (d *Decoder) scalar(v Value, want string) (string, bool) {
	n := Target(v.Node)
	if n.Kind != yaml.ScalarNode {
		d.Wrong(v, want, "")
		return "", false
	}
	switch n.ShortTag() {
	case "!!str":
		return n.Value, true
	case "!!int", "!!float", "!!bool", "!!timestamp":
		d.Wrong(v, want, fmt.Sprintf("put it in quotes: %s", Quote(n.Value)))
	default:
		d.Wrong(v, want, "")
	}
	return "", false
}

// text gives the text of the field behind p, and remembers where it was given; false after a problem.
func (d *Decoder) text(p *string, v Value, most int) (string, bool) {
	d.at[p] = v
	s, ok := d.scalar(v, "a text")
	if ok && len(s) > most {
		d.Add(v, fmt.Sprintf("the text has %d bytes, at most %d are allowed", len(s), most), "")
		return "", false
	}
	return s, ok
}

// Text reads any text up to a length in bytes.
func (d *Decoder) Text(p *string, most int) func(Value) {
	return func(v Value) {
		if s, ok := d.text(p, v, most); ok {
			*p = s
		}
	}
}

// maxLine bounds texts of one line in bytes.
const maxLine = 1000

// Line reads a text of one line without control characters.
func (d *Decoder) Line(p *string) func(Value) {
	return func(v Value) {
		switch s, ok := d.text(p, v, maxLine); {
		case !ok:
		case strings.ContainsFunc(s, unicode.IsControl):
			d.Add(v, fmt.Sprintf("%s has control characters", Quote(s)), "")
		default:
			*p = s
		}
	}
}

// maxName bounds names in characters: they stand in tables and in the first line of a delivery.
const maxName = 64

// Name reads a name. extra are punctuation characters that it may have besides . _ and -.
func (d *Decoder) Name(p *string, extra string) func(Value) {
	return func(v Value) {
		switch s, ok := d.text(p, v, maxName*utf8.UTFMax); {
		case !ok:
		case s == "":
			d.Add(v, "the name is empty", "")
		case !validName(s, extra):
			d.Add(v, fmt.Sprintf("%s is no name: letters, digits and %s, up to %d characters, a letter or digit first",
				Quote(s), strings.Join(strings.Split("._-"+extra, ""), " "), maxName), "")
		default:
			*p = s
		}
	}
}

func validName(s, extra string) bool {
	if utf8.RuneCountInString(s) > maxName {
		return false
	}
	for i, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
		case i > 0 && (unicode.IsMark(r) || strings.ContainsRune("._-"+extra, r)):
		default:
			return false
		}
	}
	return true
}

// Word reads one of a closed list of words.
func (d *Decoder) Word(p *string, allowed ...string) func(Value) {
	return func(v Value) {
		s, ok := d.text(p, v, maxLine)
		if !ok {
			return
		}
		if slices.Contains(allowed, s) {
			*p = s
			return
		}
		hint := ""
		if near := d.nearest(s, allowed); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		d.Add(v, fmt.Sprintf("%s is not allowed, allowed are: %s", Quote(s), strings.Join(allowed, ", ")), hint)
	}
}

// Known reads a word that the program must know. What the contract names but this version lacks is said to be so.
// An unknown word leaves an empty text.
func (d *Decoder) Known(p *string, noun string, known, contract []string) func(Value) {
	return func(v Value) {
		s, ok := d.text(p, v, maxLine)
		if !ok {
			return
		}
		*p = s
		switch {
		case slices.Contains(known, s):
		case slices.Contains(contract, s):
			d.Add(v, fmt.Sprintf("%s %q is not supported by this version", noun, s), "supported: "+strings.Join(known, ", "))
		default:
			d.Add(v, fmt.Sprintf("unknown %s %s", noun, Quote(s)), d.DidYouMean(s, known))
			*p = ""
		}
	}
}

// Integer reads a whole number of a range.
func (d *Decoder) Integer(p *int, low, high int) func(Value) {
	return func(v Value) {
		d.at[p] = v
		n := Target(v.Node)
		i, err := strconv.Atoi(n.Value)
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || (err != nil && !isRange(err)) {
			hint := ""
			if _, plain := strconv.Atoi(n.Value); plain == nil && n.ShortTag() == "!!str" {
				hint = "remove the quotes"
			}
			d.Wrong(v, fmt.Sprintf("a whole number from %d to %d", low, high), hint)
			return
		}
		if err != nil || i < low || i > high {
			d.Add(v, fmt.Sprintf("%.40s is out of range, allowed is %d to %d", n.Value, low, high), "")
			return
		}
		*p = i
	}
}

func isRange(err error) bool {
	return strings.HasSuffix(err.Error(), strconv.ErrRange.Error())
}

// Boolean reads true or false.
func (d *Decoder) Boolean(p *bool) func(Value) {
	return func(v Value) {
		d.at[p] = v
		n := Target(v.Node)
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
			hint := ""
			switch strings.ToLower(n.Value) {
			case "true", "false":
				hint = "remove the quotes"
			case "yes", "on", "y", "1":
				hint = "write true"
			case "no", "off", "n", "0":
				hint = "write false"
			}
			d.Wrong(v, "true or false", hint)
			return
		}
		*p = strings.EqualFold(n.Value, "true")
	}
}

// unit says how a quantity with its unit is read and written.
type unit[T cmp.Ordered] struct {
	noun   string // what is expected
	bare   string // hint for a number without a unit, which is put in
	parse  func(string) (T, error)
	format func(T) string
}

// quantity reads a number with its unit.
func quantity[T cmp.Ordered](d *Decoder, p *T, low, high T, u unit[T]) func(Value) {
	return func(v Value) {
		d.at[p] = v
		n := Target(v.Node)
		if n.Kind == yaml.ScalarNode && (n.ShortTag() == "!!int" || n.ShortTag() == "!!float") {
			d.Add(v, fmt.Sprintf("%.40s has no unit", n.Value), fmt.Sprintf(u.bare, n.Value))
			return
		}
		s, ok := d.scalar(v, u.noun)
		if !ok {
			return
		}
		q, err := u.parse(s)
		if err != nil {
			d.Add(v, err.Error(), "")
			return
		}
		if q < low || q > high {
			d.Add(v, fmt.Sprintf("%s is out of range, allowed is %s to %s", Quote(s), u.format(low), u.format(high)), "")
			return
		}
		*p = q
	}
}

// Duration reads a time with its unit.
func (d *Decoder) Duration(p *time.Duration, low, high time.Duration) func(Value) {
	return quantity(d, p, low, high, unit[time.Duration]{
		"a time with its unit, such as 8s", "units: ms s m h d; write %.40ss for seconds", ParseDuration, FormatDuration,
	})
}

// Size reads a number of bytes with its unit.
func (d *Decoder) Size(p *int, low, high int) func(Value) {
	return quantity(d, p, low, high, unit[int]{
		"a size with its unit, such as 100KB", "units: B KB MB KiB MiB; write %.40sB for bytes", ParseSize, FormatSize,
	})
}

// Delays reads a range of times, such as 50ms-80ms, or one time for both ends.
func (d *Decoder) Delays(from, to *time.Duration, high time.Duration) func(Value) {
	return func(v Value) {
		d.at[from] = v
		if n := Target(v.Node); n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" {
			d.Add(v, fmt.Sprintf("%.40s has no unit", n.Value), fmt.Sprintf("write %.40sms", n.Value))
			return
		}
		s, ok := d.scalar(v, "a range of times, such as 50ms-80ms")
		if !ok {
			return
		}
		first, last, isRange := strings.Cut(s, "-")
		if !isRange {
			last = first
		}
		a, err := ParseDuration(strings.TrimSpace(first))
		b, err2 := ParseDuration(strings.TrimSpace(last))
		switch {
		case err != nil || err2 != nil:
			d.Add(v, fmt.Sprintf("%s is no range of times with units", Quote(s)), "write it as 50ms-80ms")
		case a > b:
			d.Add(v, fmt.Sprintf("%s ends before it begins", Quote(s)), fmt.Sprintf("write %s-%s", FormatDuration(b), FormatDuration(a)))
		case a < time.Millisecond || b > high:
			d.Add(v, fmt.Sprintf("%s is out of range, allowed is 1ms to %s", Quote(s), FormatDuration(high)), "")
		default:
			*from, *to = a, b
		}
	}
}

// maxRegexp bounds patterns: Go's regular expressions take linear time in the text, but also memory by the pattern.
const maxRegexp = 1000

// Regexp reads a regular expression and compiles it.
func (d *Decoder) Regexp(p *string) func(Value) {
	return func(v Value) {
		s, ok := d.text(p, v, maxRegexp)
		if !ok {
			return
		}
		if _, err := regexp.Compile(s); err != nil {
			d.Add(v, fmt.Sprintf("%s is no regular expression: %s", Quote(s), quoteless(err)), "the syntax is that of https://pkg.go.dev/regexp/syntax")
			return
		}
		*p = s
	}
}

func quoteless(err error) string {
	return strings.Map(printable, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
}
