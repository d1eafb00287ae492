// Package mailbox keeps messages until their taker has time, so that a slow taker stops no sender and nothing is lost.
package mailbox

import (
	"context"
	"sync"
)

// Box is an unbounded queue with one taker. Make it with New.
type Box[T any] struct {
	merge func(last, next T) bool
	wake  chan struct{} // holds one

	mu   sync.Mutex
	list []T // mu
}

// New makes a Box. merge reports whether a message makes the one before it, which was not taken yet, superfluous: a
// taker that hangs must not fill the memory with what is outdated. nil: never.
func New[T any](merge func(last, next T) bool) *Box[T] {
	return &Box[T]{merge: merge, wake: make(chan struct{}, 1)}
}

// Put adds a message. It never waits.
func (b *Box[T]) Put(m T) {
	b.mu.Lock()
	if n := len(b.list); n > 0 && b.merge != nil && b.merge(b.list[n-1], m) {
		b.list[n-1] = m
	} else {
		b.list = append(b.list, m)
	}
	b.mu.Unlock()
	b.Wake()
}

// Wake tells the taker to look, with or without a message.
func (b *Box[T]) Wake() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Woken receives when there may be something to take.
func (b *Box[T]) Woken() <-chan struct{} { return b.wake }

// Take empties the box.
func (b *Box[T]) Take() []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.list
	b.list = nil
	return list
}

// Run gives every message to take, in order, until ctx ends.
func (b *Box[T]) Run(ctx context.Context, take func(T)) error {
	for {
		list := b.Take()
		for _, m := range list {
			if ctx.Err() != nil {
				return nil
			}
			take(m)
		}
		if len(list) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-b.wake:
		}
	}
}
