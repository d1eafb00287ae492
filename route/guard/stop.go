package guard

import (
	"strings"

	"github.com/madohub/madohub/record"
)

// StopKeyword asks: the word that ends a loop, in the source's answer alone (T6: neither in a template nor in a prompt).
var StopKeyword = Gate{"stop_keyword", func(f *Facts) Verdict {
	if f.Rule == nil || f.Rule.Guard.StopKeyword == "" {
		return pass("none is set")
	}
	word := f.Rule.Guard.StopKeyword
	if !f.Rule.Stops(f.Answer) {
		return pass("%q is not in the answer", word)
	}
	return no(record.Stopped, record.StopKeyword, `the answer of %q holds the stop keyword %q; ended: %s; "madohubctl rearm %s" starts again`,
		f.Record.From, word, strings.Join(f.Rule.Loop, ", "), f.Rule.Name)
}}

// Stops reports whether an answer holds the word that ends the loop of r.
func (r *Rule) Stops(answer string) bool {
	word := r.Guard.StopKeyword
	return word != "" && strings.Contains(strings.ToLower(answer), strings.ToLower(word))
}

// Ends are the counters that a stop keyword ends: the whole loop, but not what is off already.
func Ends(f *Facts) map[string]record.DisabledBy {
	off := map[string]record.DisabledBy{}
	for _, name := range f.Rule.Loop {
		if f.Counters[name].DisabledBy == "" {
			off[name] = record.DisabledByKeyword
		}
	}
	return off
}
