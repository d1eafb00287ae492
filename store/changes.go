package store

import (
	"context"
	"slices"
	"sync"

	"github.com/madohub/madohub/record"
)

const (
	ringChanges = 512     // changes that are kept for followers who are a little behind
	ringBytes   = 4 << 20 // and the most that their texts may take
)

// changes tells followers what was committed. The newest changes are kept here, because the database only has the newest
// state of each record; who is further behind than that reads the database by seq, where no record is lost.
type changes struct {
	mu    sync.Mutex
	ring  []record.Record            // oldest first, each one change
	bytes int                        // of the texts in ring
	base  int64                      // every change with a higher seq is in ring
	last  int64                      // seq of the newest change
	wake  map[chan struct{}]struct{} // each takes one
}

func (c *changes) start(seq int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base, c.last, c.wake = seq, seq, map[chan struct{}]struct{}{}
}

func (c *changes) add(recs []record.Record) {
	if len(recs) == 0 {
		return
	}
	c.mu.Lock()
	for _, r := range recs {
		c.ring = append(c.ring, r)
		c.bytes += size(r)
		c.last = r.Seq
	}
	drop := 0
	for left := c.bytes; drop < len(c.ring) && (len(c.ring)-drop > ringChanges || left > ringBytes); drop++ {
		left -= size(c.ring[drop])
		c.bytes, c.base = left, c.ring[drop].Seq
	}
	c.ring = slices.Delete(c.ring, 0, drop)
	c.mu.Unlock()
	c.wakeAll()
}

func size(r record.Record) int { return len(r.Text) + len(r.SourceText) + len(r.Detail) }

func (c *changes) wakeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ch := range c.wake {
		select {
		case ch <- struct{}{}:
		default: // it was woken already and has not looked yet
		}
	}
}

// after lists the changes after seq; false if they are no longer all here.
func (c *changes) after(seq int64) ([]record.Record, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seq < c.base {
		return nil, false
	}
	for i, r := range c.ring {
		if r.Seq > seq {
			return slices.Clone(c.ring[i:]), true
		}
	}
	return nil, true
}

// Seq is the number of the newest change.
func (s *Store) Seq() int64 {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	return s.changes.last
}

// Subscribe returns a channel that receives after every change, and a function that ends the subscription. One receive
// may stand for several changes: who is woken reads what is new.
func (s *Store) Subscribe() (wake <-chan struct{}, stop func()) {
	ch := make(chan struct{}, 1)
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	s.changes.wake[ch] = struct{}{}
	return ch, func() {
		s.changes.mu.Lock()
		defer s.changes.mu.Unlock()
		delete(s.changes.wake, ch)
	}
}

// Follow sends records to each, until ctx ends or each returns an error: with q.After the changes after it, without it
// first what Log would list, then every change. Nothing is lost however slow each is; a follower that falls far behind
// sees the newest state of a record and not every step to it.
func (s *Store) Follow(ctx context.Context, q Query, each func(record.Record) error) error {
	wake, stop := s.Subscribe()
	defer stop()
	sent := map[string]int64{} // of the first list, which may already hold changes that come after it
	if q.After <= 0 {
		q.After = s.Seq()
		first, err := s.Log(ctx, Query{N: q.N, Connection: q.Connection, Agent: q.Agent, Outcome: q.Outcome, Since: q.Since})
		if err != nil {
			return err
		}
		for _, r := range first {
			sent[r.ID] = r.Seq
			if err := each(r); err != nil {
				return err
			}
		}
	}
	q.N = pageSize
	for {
		recs, upTo, err := s.next(ctx, q)
		if err != nil {
			return err
		}
		for _, r := range recs {
			if sent[r.ID] == r.Seq {
				continue
			}
			if err := each(r); err != nil {
				return err
			}
		}
		if upTo > q.After {
			q.After = upTo
			continue // there may be more
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
		}
	}
}

// next lists the changes after q.After that q selects, and up to which seq it has looked.
func (s *Store) next(ctx context.Context, q Query) ([]record.Record, int64, error) {
	if recs, ok := s.changes.after(q.After); ok {
		upTo := q.After
		var out []record.Record
		for _, r := range recs {
			upTo = r.Seq
			if q.selects(r) {
				out = append(out, r)
			}
		}
		return out, upTo, nil
	}
	now := s.Seq() // before the reading: what changes meanwhile is found by the next call
	recs, err := s.Log(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	if len(recs) == q.N {
		return recs, recs[len(recs)-1].Seq, nil
	}
	return recs, max(now, q.After), nil
}
