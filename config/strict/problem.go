package strict

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Problem is one thing that is wrong, or worth knowing, at one place of the file.
type Problem struct {
	File    string
	Line    int    // 1 is the first; 0: the file as a whole
	Column  int    // in characters, 1 is the first
	Key     string // the full key, such as connections[0].guard.max_rounds; "" for the file as a whole
	Message string // what was given and what is allowed
	Hint    string // how to mend it, "" if the message says it all
	Warning bool   // allowed, but should be known
}

// Error implements error: file:line:column: key: message (hint).
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Warning {
		b.WriteString("warning: ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString(" (" + p.Hint + ")")
	}
	return b.String()
}

// Problems are all problems of one file, in the order of the file.
type Problems []Problem

// Error implements error: one problem a line, and no warnings unless there is nothing else.
func (ps Problems) Error() string {
	if errs := ps.Errors(); len(errs) > 0 {
		ps = errs
	}
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Errors are the problems that are no warnings.
func (ps Problems) Errors() Problems {
	return slices.DeleteFunc(slices.Clone(ps), func(p Problem) bool { return p.Warning })
}

// maxProblems bounds a report: after so many the rest is noise, and a hostile file could make millions.
const maxProblems = 100

// sorted puts problems in the order of the file and bounds their number.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	if errs := ps.Errors(); len(ps) > maxProblems && len(errs) > 0 {
		ps = errs // none of them is to be cut off behind warnings
	}
	if more := len(ps) - maxProblems; more > 0 {
		ps = append(ps[:maxProblems:maxProblems], Problem{
			File: ps[0].File, Line: ps[maxProblems].Line, Column: ps[maxProblems].Column,
			Message: fmt.Sprintf("and %d more problems", more), Warning: ps[0].Warning, // as all of them
		})
	}
	return ps
}

// Quote shows a value as given, short and without anything that a terminal would obey.
func Quote(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) > most {
		return fmt.Sprintf("%q…", string([]rune(s)[:most]))
	}
	return fmt.Sprintf("%q", s)
}

// Nearest is the candidate that somebody who wrote s most likely meant, "" if none is near.
func Nearest(s string, candidates []string) string {
	best, distance := "", 1<<30
	given := flat(s)
	if len(given) > 64 {
		return ""
	}
	for _, c := range candidates {
		d := levenshtein.ComputeDistance(given, flat(c))
		if d < distance {
			best, distance = c, d
		}
	}
	short := min(utf8.RuneCountInString(given), utf8.RuneCountInString(best))
	near := max(1, short/3)
	if short >= 4 {
		near = max(2, near) // two letters that changed places are two edits
	}
	if distance > near {
		return ""
	}
	return best
}

// flat makes maxRounds, max-rounds and max_rounds alike.
func flat(s string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s))
}

// nearest is Nearest, until so many problems were found that no more hints are worth their time.
func (d *Decoder) nearest(s string, candidates []string) string {
	if len(d.problems) > maxProblems {
		return ""
	}
	return Nearest(s, candidates)
}

// DidYouMean is the hint for an unknown word: the nearest, else all that there are.
func (d *Decoder) DidYouMean(s string, candidates []string) string {
	if near := d.nearest(s, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(candidates) == 0 || len(candidates) > 12 {
		return ""
	}
	return "known: " + strings.Join(candidates, ", ")
}
