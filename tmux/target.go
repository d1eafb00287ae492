package tmux

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Match selects panes by what they show. Empty fields match everything. All others are compared exactly and
// case-sensitively, but for Title and Command, in which a "*" stands for anything; Window is a name or an index.
type Match struct{ Session, Window, Title, Cwd, Command string }

var errTarget = errors.New("not a pane target")

// Resolve finds the panes that a target means: `%7`, `@3`, `$1`, `session`, `session:window`, `session:window.pane`, with
// or without "=" before the session. Names are whole and case-sensitive, never prefixes or patterns as in tmux itself. A
// window is an index first, as in tmux, then a name; a session means its panes in all windows. All candidates are
// returned, each pane once; ErrNoPane if there is none. Choosing among several is for the caller, who should not guess.
func Resolve(snap Snapshot, target string) ([]Pane, error) {
	test, err := targetTest(snap, target)
	if err != nil {
		return nil, err
	}
	panes := snap.filter(test)
	if len(panes) == 0 {
		return nil, fmt.Errorf("target %q: %w", target, ErrNoPane)
	}
	return panes, nil
}

// ResolveMatch finds the panes that a match means, in the manner of Resolve.
func ResolveMatch(snap Snapshot, m Match) ([]Pane, error) {
	if m == (Match{}) {
		return nil, fmt.Errorf("empty match: %w", errTarget)
	}
	panes := snap.filter(m.test)
	if len(panes) == 0 {
		return nil, fmt.Errorf("match %s: %w", m, ErrNoPane)
	}
	return panes, nil
}

// String shows the fields that are set, as in the configuration.
func (m Match) String() string {
	var set []string
	for _, f := range []struct{ name, value string }{
		{"session", m.Session}, {"window", m.Window}, {"title", m.Title}, {"cwd", m.Cwd}, {"command", m.Command},
	} {
		if f.value != "" {
			set = append(set, fmt.Sprintf("%s: %q", f.name, f.value))
		}
	}
	return "{" + strings.Join(set, ", ") + "}"
}

func (m Match) test(p Pane) bool {
	return (m.Session == "" || p.Session == m.Session) &&
		(m.Window == "" || p.Window == m.Window || strconv.Itoa(p.WindowIndex) == m.Window) &&
		(m.Cwd == "" || p.Cwd == m.Cwd) &&
		(m.Title == "" || wild(m.Title, p.Title)) &&
		(m.Command == "" || wild(m.Command, p.Command))
}

// Pane is the pane with this id; false if there is none.
func (s Snapshot) Pane(id string) (Pane, bool) {
	i := slices.IndexFunc(s.Panes, func(p Pane) bool { return p.ID == id })
	if i < 0 {
		return Pane{}, false
	}
	return s.Panes[i], true
}

// filter goes through all places of all panes and returns each pane that has one that fits, once.
func (s Snapshot) filter(test func(Pane) bool) []Pane {
	var found []Pane
	for _, panes := range [][]Pane{s.Panes, s.Linked} {
		for _, p := range panes {
			if test(p) && !slices.ContainsFunc(found, func(q Pane) bool { return q.ID == p.ID }) {
				found = append(found, p)
			}
		}
	}
	return found
}

func targetTest(snap Snapshot, target string) (func(Pane) bool, error) {
	switch {
	case target == "": // to tmux itself this is the pane that was used last
		return nil, fmt.Errorf("empty target: %w", errTarget)
	case isID(target, '%'):
		return func(p Pane) bool { return p.ID == target }, nil
	case isID(target, '@'):
		return func(p Pane) bool { return p.WindowID == target }, nil
	case isID(target, '$'):
		return func(p Pane) bool { return p.SessionID == target }, nil
	}
	// The first colon ends the session: session names hold none (tmux makes it "_"), window names may.
	session, window, _ := strings.Cut(target, ":")
	session, named := strings.CutPrefix(session, "=")
	if session == "" {
		return nil, fmt.Errorf("target %q has no session: %w", target, errTarget)
	}
	inSession := func(p Pane) bool { return p.Session == session }
	if !named && isID(session, '$') { // a session that is called $5 needs "=$5:", as in tmux
		inSession = func(p Pane) bool { return p.SessionID == session }
	}
	if window == "" {
		return inSession, nil
	}
	return windowTest(snap, inSession, window), nil
}

// windowTest reads `window`, `window.pane`, or a window whose name holds dots: as an index with or without a pane if the
// session has it, else as all names that it can be.
func windowTest(snap Snapshot, inSession func(Pane) bool, window string) func(Pane) bool {
	name, pane := "", ""
	if i := strings.LastIndexByte(window, '.'); i >= 0 {
		if tail := window[i+1:]; isNumber(tail) || isID(tail, '%') {
			name, pane = window[:i], tail
		}
	}
	inPane := func(p Pane) bool { return pane != "" && (p.ID == pane || strconv.Itoa(p.PaneIndex) == pane) }
	byIndex := func(p Pane) bool {
		index := strconv.Itoa(p.WindowIndex)
		return inSession(p) && (index == window || p.WindowID == window || (index == name || p.WindowID == name) && inPane(p))
	}
	if len(snap.filter(byIndex)) > 0 {
		return byIndex
	}
	return func(p Pane) bool {
		return inSession(p) && (p.Window == window || p.Window == name && inPane(p))
	}
}

func isID(s string, sigil byte) bool { return len(s) > 1 && s[0] == sigil && isNumber(s[1:]) }

func isNumber(s string) bool {
	return s != "" && len(s) <= 10 && strings.Trim(s, "0123456789") == ""
}

// wild matches a whole text; each "*" stands for any text, also none.
func wild(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, last)
}
