package system

import (
	"strings"
	"testing"

	"github.com/madohub/madohub/record"
)

const loop = fast + `agents:
  - {name: author, pane: author, typing: {before_submit: 100ms}}
  - {name: reviewer, pane: reviewer, typing: {before_submit: 100ms}}
flows:
  - flow: peer-review
    name: loop
    agents: {author: author, reviewer: reviewer}
    guard: {cooldown: 1s, max_rounds: 3}
`

// The template names the stop keyword, and the author quotes it: only the reviewer's own word ends the loop. A person's
// next prompt starts it again; counters survive a restart of the daemon.
func TestPeerReviewEndsByItsKeyword(t *testing.T) {
	t.Parallel()
	w := newPair(t, loop, rules{
		"author":   "  - {match: 'round', answer: 'Revised.'}\n  - {match: '', answer: 'Written.'}\n",
		"reviewer": "  - {match: '', answers: ['Not yet: line 3.', 'lgtm, thank you', 'Again: line 4.', LGTM]}\n",
	})
	w.prompt("author", "write it")
	w.find("the end", func(r record.Record) bool { return r.Outcome == record.Stopped && r.Reason == record.StopKeyword })
	off := func(want bool) func() (bool, error) {
		return func() (bool, error) {
			s, err := w.daemon.Status()
			for _, c := range s.Connections {
				if (c.DisabledBy == record.DisabledByKeyword) != want {
					return false, err
				}
			}
			return err == nil, err
		}
	}
	w.until("both connections are off", off(true))
	if got := w.took("reviewer"); len(got) != 2 {
		t.Errorf("the reviewer took %q", got)
	}
	w.must(w.daemon.Stop())
	w.must(w.daemon.Start(w.ctx))
	w.until("both connections are still off", off(true))
	w.state("author", record.StateIdle)
	w.state("reviewer", record.StateIdle)
	w.prompt("author", "now something else")
	w.find("the second loop's first round", func(r record.Record) bool {
		return r.To == "reviewer" && r.Outcome == record.Delivered && r.Round == 1 && strings.Contains(r.Text, "Written.") && r.Seq > 0 &&
			len(w.took("reviewer")) >= 3
	})
	w.until("the second loop ends too", func() (bool, error) {
		recs, err := w.daemon.Log()
		n := 0
		for _, r := range recs {
			if r.Reason == record.StopKeyword {
				n++
			}
		}
		return n == 2, err
	})
	if got := w.took("reviewer"); len(got) != 4 {
		t.Errorf("the reviewer took %d prompts: %q", len(got), got)
	}
}

// A reviewer that is never content is stopped after max_rounds, also across a restart in the middle.
func TestPeerReviewEndsByRounds(t *testing.T) {
	t.Parallel()
	w := newPair(t, loop, rules{
		"author":   "  - {match: '', answer: 'Revised.'}\n",
		"reviewer": "  - {match: '', answer: 'Not yet.'}\n",
	})
	w.prompt("author", "write it")
	w.find("the second round", func(r record.Record) bool { return r.Round == 2 && r.Outcome == record.Delivered })
	w.must(w.daemon.Stop())
	w.must(w.daemon.Start(w.ctx))
	s, err := w.daemon.Status()
	w.must(err)
	rounds := 0
	for _, c := range s.Connections {
		rounds += c.Round
	}
	if rounds < 3 {
		t.Errorf("counters after the restart: %+v", s.Connections)
	}
	w.state("author", record.StateIdle)
	// What ended while the daemon was away is missed; a person sends it on.
	for range 8 {
		recs, err := w.daemon.Log()
		w.must(err)
		last := recs[len(recs)-1]
		if last.Reason != record.Missed {
			break
		}
		w.ctl(0, "fire", last.Connection)
	}
	w.find("the end", func(r record.Record) bool { return r.Outcome == record.Stopped && r.Reason == record.MaxRounds })
	for _, agent := range []string{"author", "reviewer"} {
		if n := count(w.took(agent), "round"); n > 3 {
			t.Errorf("%s took %d prompts of the loop", agent, n)
		}
	}
}

// Pause ends what waits and is never undone by a person's prompt; resume switches on again.
func TestPauseResumeFire(t *testing.T) {
	t.Parallel()
	w := newPair(t, review, rules{"a": "  - {match: '(.*)', answer: 'Answer to $1.'}\n", "b": ""})
	w.ctl(0, "pause", "review")
	w.prompt("a", "one")
	w.outcome("review", record.Blocked, record.Paused)
	w.ctl(0, "resume", "review")
	w.ctl(0, "fire", "review")
	w.outcome("review", record.Delivered, "")
	w.prompt("a", "two")
	w.find("the second", func(r record.Record) bool { return r.Outcome == record.Delivered && strings.Contains(r.Text, "two") })
	if got := w.took("b"); len(got) != 2 || got[0] != "Answer to one." || got[1] != "Answer to two." {
		t.Errorf("b took %q", got)
	}
}

// Within the cooldown the newest answer waits and replaces the older one.
func TestCooldownNewestWins(t *testing.T) {
	t.Parallel()
	w := newPair(t, strings.Replace(review, "cooldown: 1s", "cooldown: 30s", 1), rules{
		"a": "  - {match: '(.*)', answer: 'Answer to $1.'}\n",
		"b": "",
	})
	w.prompt("a", "one")
	w.outcome("review", record.Delivered, "")
	w.prompt("a", "two")
	w.outcome("review", record.Held, record.Cooldown)
	w.prompt("a", "three")
	w.outcome("review", record.Cancelled, record.Superseded)
	w.find("the newest held", func(r record.Record) bool { return r.Outcome == record.Held && strings.Contains(r.Text, "three") })
	if got := w.took("b"); len(got) != 1 {
		t.Errorf("b took %q within the cooldown", got)
	}
	held := w.ctl(0, "queue")
	if !strings.Contains(held, "cooldown") {
		t.Errorf("queue says %s", held)
	}
}
