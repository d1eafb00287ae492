package session

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/madohub/madohub/agent"
	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/session/records"
)

// settleFor is how long a transcript may lag behind an idle status. Claude Code 2.1.332 wrote the answer 0–115 ms after
// it said idle (2026-11-30); a turn that shows no end after this was broken off.
const settleFor = 2 * time.Second

// turnLog is what was told of an agent's turns. It belongs to one session of one process.
type turnLog struct {
	key      string    // process and session
	since    time.Time // what began before is the base line
	based    bool      // the transcript was read once
	cur      agent.Turn
	opened   string // turn that TurnOpened was told of
	reported string // turn that TurnEnded was told of, or that is the base line
	prompts  map[promptKey]bool
	grew     time.Time // when the transcript last grew
	skipped  int
}

type promptKey struct {
	id     string
	offset int64
}

// followTurns reads what the transcript has gained and tells it in order.
func (s *Sessions) followTurns(t *tracked, l *look, now time.Time) []Event {
	var events []Event
	r := &l.seat.records
	if r.Twin != 0 {
		// Whatever turns up meanwhile may be the other pane's; it is base line once this one is alone again.
		t.turns, t.book = turnLog{}, nil
		return nil
	}
	key, known := sessionKey(l)
	if !known {
		return nil
	}
	found := t.turns.key != key
	if found {
		t.turns, t.book = turnLog{key: key, since: t.lastAt}, nil
		switch {
		case l.recorded() && r.Transcript == "":
			t.turns.since = time.Time{} // its transcript begins with its first prompt: all of it is news
		case t.lastAt.IsZero():
			t.turns.since = now
		}
		t.turn.Store(nil)
	}
	if r.Transcript != "" && (t.book == nil || t.book.Path != r.Transcript) {
		t.book = &records.Transcript{Path: r.Transcript, NewFold: l.seat.kind.Records.NewFold}
	}
	events = append(events, s.readTurns(t, now)...)
	events = append(events, settle(t, l, now)...)
	if found {
		ev := Event{Kind: Found}
		if t.turns.reported == t.turns.cur.ID && len(events) == 0 {
			ev.Turn = t.turns.cur
		}
		events = append([]Event{ev}, events...)
	}
	return events
}

// sessionKey names the present session. While a process has no record, it has a session only if a transcript was found for it.
func sessionKey(l *look) (key string, known bool) {
	r, recs := &l.seat.records, l.seat.kind.Records
	key = fmt.Sprintf("%d:%d:%s", l.view.Process.PID, l.view.Process.Start, r.Session.ID)
	return key, r.Session.ID != "" || r.Transcript != "" || recs == nil || recs.SessionFile == nil
}

// readTurns takes in new lines. Each turn and prompt is told when it turns up, so that of two turns that end within
// one tick both are told.
func (s *Sessions) readTurns(t *tracked, now time.Time) []Event {
	if t.book == nil {
		return nil
	}
	var events []Event
	grew, anew, err := t.book.Read(func() { events = append(events, t.turns.step(t.book.Fold)...) })
	if err != nil {
		s.log.Debug("transcript", zap.String("agent", t.spec.Name), zap.Error(err))
		return events
	}
	if grew {
		t.turns.grew = now
	}
	if n := t.book.Skipped; n > t.turns.skipped {
		s.log.Warn("transcript lines over 64 MB were skipped", zap.String("agent", t.spec.Name), zap.Int("lines", n))
		t.turns.skipped = n
	}
	if anew {
		if t.turns.based {
			t.turns.since = t.lastAt // replaced, cut or rewritten: what is older was told or is not news
		}
		t.turns.based = true
		events = append(events, t.turns.base(t.book.Fold)...)
	}
	for _, ev := range events {
		if ev.Kind == TurnEnded {
			t.turn.Store(&ev.Turn)
		}
	}
	if cur := t.turns.cur; anew && cur.Ended && cur.ID == t.turns.reported {
		t.turn.Store(&cur)
	}
	return events
}

// base takes what stands in a transcript that was just opened, replaced or cut. Only what began after the last look at
// this agent is news; all else was there before.
func (g *turnLog) base(fold agent.Fold) []Event {
	g.prompts = map[promptKey]bool{}
	for _, p := range fold.Prompts() {
		g.prompts[promptKey{p.ID, p.Offset}] = !p.Queued && !p.Time.After(g.since)
	}
	cur, ok := fold.Last()
	switch {
	case !ok:
		g.cur = agent.Turn{}
		return nil
	case cur.ID == g.cur.ID: // the same turn in another file
	case cur.Started.After(g.since):
		events := g.newPrompts(fold)
		if list, ok := fold.(agent.TurnLister); ok {
			for _, t := range list.Turns() {
				if t.ID != cur.ID && t.Ended && t.Started.After(g.since) {
					events = append(events, Event{Kind: TurnOpened, At: t.Started, Turn: t}, Event{Kind: TurnEnded, At: t.End, Turn: t})
				}
			}
		}
		return append(events, g.step(fold)...)
	case cur.Ended:
		g.reported = cur.ID
	}
	g.opened, g.cur = cur.ID, cur
	return nil
}

// step compares the fold with what was told so far, after every line.
func (g *turnLog) step(fold agent.Fold) []Event {
	var events []Event
	cur, ok := fold.Last()
	if old := g.cur; ok && old.ID != cur.ID && old.Ended && old.Background == 0 && old.ID != g.reported {
		g.reported = old.ID
		events = append(events, Event{Kind: TurnEnded, At: old.End, Turn: old})
	}
	events = append(events, g.newPrompts(fold)...)
	if !ok {
		return events
	}
	if g.cur = cur; cur.ID != g.opened {
		g.opened = cur.ID
		events = append(events, Event{Kind: TurnOpened, At: cur.Started, Turn: cur})
	}
	return events
}

// newPrompts tells the prompts that were given to the model. A prompt that the agent only queued comes later.
func (g *turnLog) newPrompts(fold agent.Fold) []Event {
	var events []Event
	list := fold.Prompts()
	seen := make(map[promptKey]bool, len(list))
	for _, p := range list {
		key := promptKey{p.ID, p.Offset}
		if !p.Queued && !g.prompts[key] {
			events = append(events, Event{Kind: PromptTaken, At: p.Time, Prompt: p})
		}
		seen[key] = !p.Queued
	}
	g.prompts = seen
	return events
}

// settle tells the end of the present turn once transcript and status agree on it.
func settle(t *tracked, l *look, now time.Time) []Event {
	g, state := &t.turns, l.view.State
	if l.recorded() {
		// The record itself: a suspended agent's turn ends as well, and 300 ms of idle matter for typing only.
		state = l.seat.records.Session.State
	}
	cur := g.cur
	if cur.ID == "" || cur.ID == g.reported {
		return nil
	}
	switch state {
	case record.StateBusy, record.StateStarting, record.StateUnknown, "":
		return nil
	}
	if !cur.Ended || cur.Background > 0 {
		still := now.Sub(l.seat.records.StatusAt)
		if !g.grew.IsZero() {
			still = min(still, now.Sub(g.grew))
		}
		if state != record.StateIdle || still < settleFor {
			return nil
		}
	}
	// A turn that was broken off before this agent was first looked at is base line, too.
	old := !cur.Ended && !cur.Started.After(g.since) && l.seat.records.Session.Changed.Before(g.since)
	if !cur.Ended {
		cur.Ended = true
		if cur.Background == 0 || cur.Answer == "" { // else background agents ended without a report: the answer stands
			cur.Failure, cur.Detail = record.Interrupted, "idle without an end of the turn in the transcript"
		}
		if cur.End = l.seat.records.Session.Changed; cur.End.Before(cur.Started) {
			cur.End = now
		}
	}
	g.reported = cur.ID
	g.cur = cur
	t.turn.Store(&cur)
	if old {
		return nil
	}
	return []Event{{Kind: TurnEnded, At: cur.End, Turn: cur}}
}
