//go:build agents

package realagents

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/madohub/madohub/record"
)

const review = `flows:
  - flow: peer-review
    name: loop
    agents: {author: a, reviewer: b}
    guard: {cooldown: 1s, max_rounds: %d}
`

var roundOf = regexp.MustCompile(`(?s)Please review.*\(round (\d+) of`)

// reviewer answers reviews with findings until the round that it likes; 0: never.
func reviewer(likes int) func([]string) (string, bool) {
	return func(prompts []string) (string, bool) {
		newest := prompts[len(prompts)-1]
		if m := roundOf.FindStringSubmatch(newest); m != nil {
			if m[1] == fmt.Sprint(likes) {
				return "LGTM", true
			}
			return "Finding " + m[1] + ": the error is dropped.", true
		}
		if strings.Contains(newest, "has reviewed your work") {
			return "Mended what was found.", true
		}
		return "Wrote the first version.", true
	}
}

// counts are the rounds of the flow's two connections and why they are off.
func (w *world) counts() string {
	w.t.Helper()
	s, err := w.daemon.Status()
	must(w.t, err)
	var out []string
	for _, c := range s.Connections {
		out = append(out, fmt.Sprintf("%s %d/%d %s", c.Name, c.Round, c.MaxRounds, c.DisabledBy))
	}
	return strings.Join(out, ", ")
}

func (w *world) pair() (a, b *claude) {
	w.t.Helper()
	return w.claude("a", current, nil), w.claude("b", current, nil)
}

// stopped waits for the n-th end of a loop.
func (w *world) stopped(n int, reason record.Reason) {
	w.t.Helper()
	w.wait(fmt.Sprintf("the loop ended %d time(s) by %s", n, reason), func() (bool, error) {
		recs, err := w.daemon.Log()
		seen := 0
		for _, r := range recs {
			if r.Outcome == record.Stopped && r.Reason == reason {
				seen++
			}
		}
		return seen >= n, err
	})
}

// TestPeerReview: two real Claudes review each other until LGTM, although the template that asks for it holds the word; the
// end and the counters survive a restart of the daemon, and a person's next prompt begins anew.
func TestPeerReview(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reviewer(2), "a", "b")
	a, b := w.pair()
	d := w.start(fmt.Sprintf(review, 5), "a", "b")
	w.sees("a", "idle")
	w.sees("b", "idle")

	began := time.Now()
	a.prompt("write it")
	w.stopped(1, record.StopKeyword)
	b.idle()
	note(t, "ends by LGTM", len(a.prompts()) == 2 && len(b.prompts()) == 2, began, "author took %d, reviewer %d prompts; %s",
		len(a.prompts()), len(b.prompts()), w.counts())

	began = time.Now()
	before := w.counts()
	must(t, d.Stop())
	must(t, d.Start(w.ctx()))
	w.sees("a", "idle")
	note(t, "restart of the daemon", w.counts() == before && strings.Contains(before, "stop_keyword"), began, "%s, then %s", before, w.counts())

	began = time.Now()
	a.prompt("now write another one")
	w.stopped(2, record.StopKeyword)
	b.idle()
	note(t, "a person's prompt begins anew", len(a.prompts()) == 4 && len(b.prompts()) == 4, began, "author took %d, reviewer %d prompts; %s",
		len(a.prompts()), len(b.prompts()), w.counts())
}

// TestPeerReviewEndsByRounds: a reviewer who is never content is stopped by the loop guard.
func TestPeerReviewEndsByRounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, reviewer(0), "a", "b")
	a, b := w.pair()
	w.start(fmt.Sprintf(review, 2), "a", "b")
	w.sees("a", "idle")
	w.sees("b", "idle")
	began := time.Now()
	a.prompt("write it")
	w.stopped(1, record.MaxRounds)
	a.idle()
	b.idle()
	note(t, "ends by max_rounds", len(b.prompts()) == 2 && len(a.prompts()) == 3, began, "author took %d, reviewer %d prompts; %s",
		len(a.prompts()), len(b.prompts()), w.counts())
}

// TestCooldown: a second answer within the cooldown waits, and then goes.
func TestCooldown(t *testing.T) {
	t.Parallel()
	const cooldown = 15 * time.Second // a turn on a busy machine takes less
	w := newWorld(t, nil, "a", "b")
	a, b := w.pair()
	w.start(fmt.Sprintf("connections:\n  - {name: pass, from: a, to: b, guard: {cooldown: %s}}\n", cooldown), "a", "b")
	w.sees("a", "idle")
	w.sees("b", "idle")
	began := time.Now()
	var typed []time.Time
	waited := false
	for _, answer := range []string{"First.", "Second."} {
		a.ask("@@short:" + answer + "@@")
		r := w.find(answer, func(r record.Record) bool { return r.SourceText == answer && r.Outcome == record.Delivered })
		for _, step := range r.Steps {
			switch {
			case step.Name == "intent":
				typed = append(typed, step.Time)
			case step.Name == "held" && strings.HasPrefix(step.Note, string(record.Cooldown)):
				waited = true
			}
		}
	}
	b.idle()
	gap := typed[1].Sub(typed[0])
	note(t, "cooldown", len(typed) == 2 && gap >= cooldown && waited && len(b.prompts()) == 2, began,
		"held by cooldown: %t, %.1f s between two deliveries, cooldown %s", waited, gap.Seconds(), cooldown)
}
