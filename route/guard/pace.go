package guard

import (
	"sync"
	"time"

	"github.com/madohub/madohub/record"
)

// maxLag is the longest way from a gate that said go to the intent of the same delivery. A wall clock that says more has
// jumped.
const maxLag = time.Minute

// Pace remembers deliveries on the monotonic clock: within a run a wall clock that jumps can neither shorten a cooldown
// nor make it last for hours. Across a restart only the stored wall clock is left, and nobody knows whether it jumped
// meanwhile: every cooldown starts again with the process. It is at most 30 s.
type Pace struct {
	born time.Time
	mu   sync.Mutex
	seen map[string]delivery  // mu; by connection
	went map[string]time.Time // mu; by connection: when a gate last let a text of it go
}

type delivery struct {
	stored time.Time // as the counter has it
	at     time.Time // the same moment on our monotonic clock
}

// NewPace makes an empty memory.
func NewPace() *Pace {
	return &Pace{born: time.Now(), seen: map[string]delivery{}, went: map[string]time.Time{}}
}

// Last is when a connection last delivered, zero if it never did.
func (p *Pace) Last(c record.Counter, now time.Time) time.Time {
	if c.LastDelivery.IsZero() {
		return time.Time{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	d, known := p.seen[c.Connection]
	if known && d.stored.Equal(c.LastDelivery) {
		return d.at
	}
	d = delivery{stored: c.LastDelivery, at: now}
	went, ours := p.went[c.Connection]
	if ours {
		if lag := c.LastDelivery.Sub(went.Round(0)); lag >= 0 && lag <= maxLag {
			d.at = earlier(went.Add(lag), now)
		}
	} else if age := now.Round(0).Sub(c.LastDelivery); age > 0 {
		if d.at = now.Add(-age); d.at.Before(p.born) {
			d.at = p.born
		}
	}
	p.seen[c.Connection] = d
	return d.at
}

// LetGo notes that a text of a connection may be typed now.
func (p *Pace) LetGo(connection string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.went[connection] = now
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
