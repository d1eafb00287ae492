package store

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/madohub/madohub/record"
)

// A model of the arithmetic of rounds: what is counted with an intent is given back at most once, never below 0, and
// never to a connection that was re-armed since.
type roundModel struct {
	round  int
	arm    int
	begun  map[string]int // record → arm of its intent
	queued []string
}

func TestRoundsAddUp(t *testing.T) {
	ctx, s := context.Background(), fast(t)
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		connection := fmt.Sprint("c", run)
		m := roundModel{begun: map[string]int{}}
		next := 0
		if _, err := s.write.Exec("DELETE FROM intents; DELETE FROM queue"); err != nil { // of the run before
			t.Fatal(err)
		}
		pickBegun := func(t *rapid.T) string {
			ids := []string{}
			for i := range next {
				if id := fmt.Sprintf("r_%d_%d", run, i); m.has(id) {
					ids = append(ids, id)
				}
			}
			if len(ids) == 0 {
				t.Skip("nothing is being typed") // rapid draws another action
			}
			return rapid.SampledFrom(ids).Draw(t, "begun")
		}
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		read := func() record.Counter {
			all, err := s.Counters(ctx)
			must(err)
			return all[connection]
		}
		end := func(t *rapid.T, requeue, refund bool) {
			id := pickBegun(t)
			rec, err := s.Record(ctx, id)
			must(err)
			if requeue {
				must(s.Requeue(ctx, &rec))
				m.queued = append(m.queued, id)
			} else {
				rec.Outcome, rec.Reason = record.Failed, record.TmuxError
				must(s.Finish(ctx, &rec, refund))
			}
			if refund && m.begun[id] == m.arm {
				m.round = max(0, m.round-1)
			}
			delete(m.begun, id)
		}
		t.Repeat(map[string]func(*rapid.T){
			"decide": func(t *rapid.T) {
				d := held(fmt.Sprintf("r_%d_%d", run, next), connection, fmt.Sprint("t", next))
				next++
				ok, err := s.Decide(ctx, d)
				must(err)
				if !ok {
					t.Fatal("a new turn was not decided")
				}
				m.queued = append(m.queued, d.Record.ID)
			},
			"intend": func(t *rapid.T) {
				if len(m.queued) == 0 {
					t.Skip("nothing waits") // rapid draws another action
				}
				id := m.queued[0]
				m.queued = m.queued[1:]
				rec, err := s.Record(ctx, id)
				must(err)
				must(s.Intend(ctx, &rec, record.Intent{ID: id}))
				m.round++
				m.begun[id] = m.arm
				if rec.Round != m.round {
					t.Fatalf("round of the record is %d, want %d", rec.Round, m.round)
				}
			},
			"finish":  func(t *rapid.T) { end(t, false, false) },
			"refund":  func(t *rapid.T) { end(t, false, true) },
			"requeue": func(t *rapid.T) { end(t, true, true) },
			"rearm": func(*rapid.T) {
				must(s.SetCounter(ctx, record.Counter{Connection: connection}))
				if m.round > 0 {
					m.arm++
				}
				m.round = 0
			},
			"pause": func(*rapid.T) { // reads, then writes
				c := read()
				c.Connection, c.DisabledBy = connection, record.DisabledByUser
				must(s.SetCounter(ctx, c))
			},
			"": func(t *rapid.T) {
				c := read()
				if c.Round != m.round {
					t.Fatalf("round %d, want %d", c.Round, m.round)
				}
				un, err := s.Intents(ctx)
				must(err)
				got := map[string]bool{}
				for _, u := range un {
					if u.Item.Record.Connection == connection {
						got[u.Intent.ID] = true
					}
				}
				want := map[string]bool{}
				for id := range m.begun {
					want[id] = true
				}
				if diff := cmp.Diff(got, want); diff != "" {
					t.Fatalf("intents (-got +want):\n%s", diff)
				}
			},
		})
	})
}

func (m roundModel) has(id string) bool { _, ok := m.begun[id]; return ok }
