package guard

import (
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	maxTyped = 64             // texts a target whose chain is remembered; a turn is opened by one of the newest
	typedFor = 24 * time.Hour // a text that was not taken by then opens no turn any more
	maxHops  = 32             // hops that a record keeps, the newest
)

// Chains knows for each agent through which agents its present turn was set off. What B does while it works on our delivery
// belongs to the chain of that delivery; a prompt by a person ends a chain. It is kept in memory: after a restart, chains of
// turns that are already open are forgotten, and rounds, which are on disk, are what still bounds a loop.
type Chains struct {
	mu    sync.Mutex
	of    map[string][]string // mu; by agent: hops, oldest first
	typed map[string][]typed  // mu; by target, oldest first: what was let go to be typed
}

type typed struct {
	id   string
	text string // squeezed
	hops []string
	at   time.Time
}

// LetGo notes a text that is being typed from now on, so that its prompt is known as ours before its record is final.
func (c *Chains) LetGo(target, id, text string, hops []string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.typed == nil {
		c.typed = map[string][]typed{}
	}
	list := c.typed[target]
	for i, t := range list {
		if t.id == id {
			list[i].at = now
			return
		}
	}
	for len(list) >= maxTyped || (len(list) > 0 && now.Sub(list[0].at) > typedFor) {
		list = list[1:]
	}
	c.typed[target] = append(list, typed{id, squeeze(text), hops, now})
}

// Taken hears of a prompt that an agent took. It reports whether it is one of ours, whose chain the agent now works in;
// any other prompt ends the chain.
func (c *Chains) Taken(agent, text string) bool {
	text = squeeze(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string][]string{}
	}
	list := c.typed[agent]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].text == text {
			c.of[agent] = list[i].hops
			return true
		}
	}
	delete(c.of, agent)
	return false
}

// Next are the hops of a text that this agent sets off now.
func (c *Chains) Next(agent string) []string {
	if agent == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	hops := append(append([]string{}, c.of[agent]...), agent)
	return hops[max(len(hops)-maxHops, 0):]
}

// squeeze leaves of a text what neither cleaning, nor an agent's input box, nor its record changes: the characters that are
// seen. Escape sequences are dropped whole, as cleaning does.
func squeeze(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if n := escape(text[i:]); n > 0 {
			i += n
			continue
		}
		j := strings.IndexByte(text[i+1:], 0x1b)
		if j < 0 {
			j = len(text)
		} else {
			j += i + 1
		}
		b.WriteString(text[i:j])
		i = j
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsGraphic(r) {
			return -1
		}
		return r
	}, norm.NFC.String(b.String()))
}

// escape is the length of the control sequence at the start of s, 0 if there is none.
func escape(s string) int {
	if len(s) < 3 || s[0] != 0x1b || s[1] != '[' {
		return 0
	}
	for i := 2; i < len(s); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
		if s[i] < 0x20 || s[i] > 0x3f {
			return 0
		}
	}
	return 0
}
