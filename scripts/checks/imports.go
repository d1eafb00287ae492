package checks

import (
	"fmt"
	"path"
	"slices"
)

// arrows says which packages of the tree a package may import. It is the table of the design: a new arrow comes with a
// design note. Patterns are those of path.Match; a package that is not in the table may not exist. A room may be divided:
// what lies below it may import what the room may, and its siblings; the room may import what lies below it, and nobody else may
// unless the table says so.
var arrows = map[string][]string{
	"record":  nil,
	"mailbox": nil, // a leaf: session hands events to the daemon through it, route to the workers of connections
	"tmux":    nil,
	"config":  nil,
	"llm":     nil,
	"agent":   {"record"}, // states and reasons are shared words

	"session":         {"agent", "mailbox", "tmux", "record"},
	"store":           {"record"},
	"api":             {"record"},
	"mcp":             {"record"},
	"madoagent":       {"llm", "record"},
	"deliver":         {"tmux", "session", "agent", "record"},
	"route/flow":      {"config"},
	"route/trigger":   {"agent", "record"},
	"route/transform": {"agent", "record"},
	"route/guard":     {"config", "record"}, // docs/design/006-guard.md
	"route":           {"route/guard", "route/trigger", "route/transform", "route/flow", "agent", "config", "mailbox", "record"},

	"daemon": {
		"agent", "api", "config", "deliver", "llm", "madoagent", "mcp", "record", "route", "route/*", "session", "store", "tmux",
	},
	"cmd/madohub":    {"daemon", "config"},                                                                                      // config: the class of its errors decides the exit code
	"cmd/madohubctl": {"api", "config", "tmux", "session", "agent", "route/flow", "record", "route/trigger", "route/transform"}, // the last two for their names, which config.Load is handed

	// What serves tests and the demo knows MadoHub from outside, by its binaries and the words of its records.
	"scripts/bench":           {"scripts/*", "tmux", "session", "agent", "record", "store"},
	"scripts/bench/*":         {"scripts/*", "tmux", "session", "agent", "record", "store"},
	"scripts/checks":          nil,
	"scripts/demo":            {"scripts/rig", "record"},
	"scripts/fakemodel":       nil,
	"scripts/fakemodel/serve": {"scripts/fakemodel"},
	"scripts/latency":         {"scripts/rig", "record"},
	"scripts/realagents":      {"scripts/rig", "scripts/fakemodel", "record"},
	"scripts/receiver":        {"scripts/tty"},
	"scripts/rig":             {"record"},
	"scripts/scripted":        {"scripts/tty"},
	"scripts/system":          nil,
	"scripts/tty":             nil,
}

// testHelpers may be imported by the tests of any package.
var testHelpers = []string{"scripts/rig", "scripts/fakemodel", "record", "agent"}

// checkImports lists the arrows that are not in the table.
func checkImports(files []file) []string {
	var bad []string
	for _, f := range files {
		allowed, known := lookup(f.dir)
		if !known {
			bad = append(bad, fmt.Sprintf("%s: package %s is not in the table of imports", f.path, f.dir))
			continue
		}
		for _, dep := range f.ours() {
			own := f.test && (dep == f.dir || matchAny(testHelpers, dep))
			if !own && !matchAny(allowed, dep) {
				bad = append(bad, fmt.Sprintf("%s: %s must not import %s", f.path, f.dir, dep))
			}
		}
	}
	return bad
}

// lookup is what a package may import; the second result is false for a package that is not in the table.
func lookup(dir string) ([]string, bool) {
	if allowed, ok := arrows[dir]; ok {
		return append([]string{dir + "/*"}, allowed...), true
	}
	room := path.Dir(dir)
	allowed, ok := arrows[room]
	return append([]string{room + "/*"}, allowed...), ok && room != "."
}

func matchAny(patterns []string, s string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := path.Match(p, s)
		return ok
	})
}
