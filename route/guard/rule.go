package guard

import "github.com/madohub/madohub/config"

// Rule is a connection with what the guard derives from all connections.
type Rule struct {
	config.Connection
	Approve bool
	Loop    []string        // connections that end with this one: itself and all that share a cycle with it
	Group   map[string]bool // agents whose person re-arms it: those of the loop, or of its flow if there is no cycle
}

// FindLoops notes for every rule which others lie on a cycle through it: those whose ends reach each other. A connection
// that is switched off in the file is on no cycle. Order is the order in which they are named.
func FindLoops(rules map[string]*Rule, order []string) {
	next := map[string][]string{}
	for _, c := range rules {
		if c.Enabled {
			next[c.From] = append(next[c.From], c.To)
		}
	}
	reach := map[string]map[string]bool{}
	for name := range next {
		reach[name] = reachable(next, name)
	}
	together := func(c, d *Rule) bool {
		return c.Enabled && d.Enabled && reach[c.To][c.From] && reach[c.To][d.From] && reach[d.To][c.From]
	}
	for _, c := range rules {
		c.Loop, c.Group = nil, map[string]bool{}
		for _, name := range order {
			d := rules[name]
			inLoop := c == d || together(c, d)
			if inLoop {
				c.Loop = append(c.Loop, name)
			}
			if inLoop || (c.Flow != "" && c.Flow == d.Flow && !together(c, c)) {
				c.Group[d.From], c.Group[d.To] = true, true
			}
		}
	}
}

// reachable are the agents to which a text of this one can come, in any number of steps.
func reachable(next map[string][]string, from string) map[string]bool {
	seen := map[string]bool{}
	for todo := []string{from}; len(todo) > 0; {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, n := range next[name] {
			if !seen[n] {
				seen[n] = true
				todo = append(todo, n)
			}
		}
	}
	return seen
}
