package system

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/madohub/madohub/record"
)

var crashes = flag.Int("crashes", 8, "deliveries in TestCrashes")

// The daemon is killed at random moments of a hundred deliveries (-crashes 100). The receiver's bytes say how often each
// text arrived: never twice; and the log accounts for each.
func TestCrashes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agent("a", "  - {match: '(.*)', answer: \"Answer $1.\\nIts second line.\\nIts third line.\"}\n")
	w.agent("b", "")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	w.start(strings.Replace(review, "max_rounds: 20", "max_rounds: 20, rearm: human", 1))
	w.state("a", record.StateIdle)
	w.state("b", record.StateIdle)
	for i := range *crashes {
		name := fmt.Sprintf("n%03d", i)
		w.prompt("a", name)
		// From the prompt to the proof is about 1.2 s here: every step of it is hit.
		time.Sleep(time.Duration(rnd.IntN(1600)) * time.Millisecond)
		w.must(w.daemon.Crash())
		w.must(w.daemon.Start(w.ctx))
		w.find("an end of "+name, func(r record.Record) bool {
			return strings.Contains(r.SourceText, name+".") && r.Outcome.Final() && r.Outcome != record.QueuedByTarget
		})
		settle(w)
	}
	account(w, *crashes)
}

// settle clears what a killed delivery left in b's box, as a person would.
func settle(w *world) {
	w.t.Helper()
	w.until("b's box is clean", func() (bool, error) {
		s, err := w.panes["b"].Screen()
		if err != nil || boxOf(s) == "" {
			return err == nil, err
		}
		return false, w.panes["b"].Keys("C-u")
	})
}

// boxOf is what stands between the last two rules of a screen.
func boxOf(screen string) string {
	parts := strings.Split(screen, strings.Repeat("─", 80))
	if len(parts) < 3 {
		return ""
	}
	return strings.Trim(strings.ReplaceAll(parts[len(parts)-2], "❯", ""), " \n\u00a0")
}

// account compares the log with the receiver.
func account(w *world, n int) {
	w.t.Helper()
	recs, err := w.daemon.Log()
	w.must(err)
	took := w.took("b")
	tally := map[string]int{}
	for i := range n {
		part := fmt.Sprintf("Answer n%03d.", i)
		arrived := count(took, part)
		var said []string
		for _, r := range recs {
			if strings.Contains(r.SourceText, part) {
				said = append(said, string(r.Outcome)+"/"+string(r.Reason))
				if r.Outcome == record.Delivered && arrived == 0 {
					w.t.Errorf("%s: the log says delivered, b never took it", part)
				}
			}
		}
		if arrived > 1 {
			w.t.Errorf("%s arrived %d times", part, arrived)
		}
		if len(said) == 0 {
			w.t.Errorf("%s is not in the log", part)
		}
		tally[strings.Join(said, " ")+fmt.Sprintf(" arrived %d", arrived)]++
	}
	for what, k := range tally {
		w.t.Logf("%4d  %s", k, what)
	}
}
