package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/record"
)

// fill writes records in a few transactions, as fast as the disk allows.
func fill(t testing.TB, s *Store, n int) {
	t.Helper()
	agents := []string{"coder", "reviewer", "tester"}
	outcomes := []record.Outcome{record.Delivered, record.Skipped, record.Blocked, record.Failed}
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for i := 0; i < n; i += 5000 {
		must(t, s.update(context.Background(), "fill", func(ctx context.Context, t *tx) error {
			for j := i; j < min(n, i+5000); j++ {
				r := record.Record{
					ID: fmt.Sprintf("r_%06d", j), Time: start.Add(time.Duration(j) * time.Second),
					Connection: fmt.Sprint("c", j%10), From: agents[j%3], To: agents[(j+1)%3], Outcome: outcomes[j%4], Text: strings.Repeat("x", 500),
				}
				if err := t.insert(ctx, &r); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

func ids(recs []record.Record) []string {
	out := []string{}
	for _, r := range recs {
		out = append(out, r.ID)
	}
	return out
}

func TestLogSelects(t *testing.T) {
	ctx, s := context.Background(), fast(t)
	fill(t, s, 60)
	at := func(i int) time.Time { return time.Date(2026, 11, 1, 0, 0, i, 0, time.UTC) }
	for _, c := range []struct {
		name string
		q    Query
		want string
	}{
		{"newest", Query{N: 3}, "r_000057 r_000058 r_000059"},
		{"connection", Query{N: 2, Connection: "c4"}, "r_000044 r_000054"},
		{"agent, from or to", Query{N: 4, Agent: "coder"}, "r_000054 r_000056 r_000057 r_000059"},
		{"outcome", Query{N: 2, Outcome: record.Failed}, "r_000055 r_000059"},
		{"since", Query{Since: at(58)}, "r_000058 r_000059"},
		{"all at once", Query{N: 5, Connection: "c4", Agent: "tester", Outcome: record.Delivered, Since: at(40)}, "r_000044"},
		{"after", Query{N: 2, After: 10}, "r_000010 r_000011"},
		{"after, all", Query{After: 57}, "r_000057 r_000058 r_000059"},
		{"after, agent", Query{After: 56, Agent: "tester"}, "r_000056 r_000058 r_000059"},
		{"nothing", Query{Connection: "c99"}, ""},
		{"no meaning of its own", Query{Connection: "' OR 1=1 --"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			recs, err := s.Log(ctx, c.q)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(ids(recs), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	must(t, s.update(ctx, "a flow", func(ctx context.Context, t *tx) error {
		for i, name := range []string{"loop", "loop/review", "loop/revise", "loops/review", "loop0", "loop.1"} {
			if err := t.insert(ctx, &record.Record{ID: fmt.Sprint("r_flow", i), Time: at(60), Connection: name}); err != nil {
				return err
			}
		}
		return nil
	}))
	loop := Query{Connection: "loop"}
	recs, err := s.Log(ctx, loop)
	if got := strings.Join(ids(recs), " "); err != nil || got != "r_flow0 r_flow1 r_flow2" {
		t.Errorf("a flow: got %q, %v", got, err)
	}
	for _, name := range []string{"loop", "loop/revise", "loops/review", "loop0", "loop.1"} {
		if loop.selects(record.Record{Connection: name}) != (name == "loop" || name == "loop/revise") {
			t.Errorf("a follower of a flow: %s", name)
		}
	}
	if recs, _ := s.Log(ctx, Query{}); len(recs) != defaultN {
		t.Errorf("%d records without N, want %d", len(recs), defaultN)
	}
}

func TestFind(t *testing.T) {
	ctx, s := context.Background(), fast(t)
	if _, err := s.Find(ctx, "last"); !errors.Is(err, ErrNotFound) {
		t.Errorf("last of nothing: %v", err)
	}
	for i, id := range []string{"r_01AB", "r_01AC", "r_02", "r_02X"} {
		decide(t, s, held(id, "c", fmt.Sprint(i)))
	}
	for give, want := range map[string]string{"r_01AB": "r_01AB", "r_02": "r_02", "r_01AC": "r_01AC", "01ab": "r_01AB", "02x": "r_02X", "last": "r_02X"} {
		if rec, err := s.Find(ctx, give); err != nil || rec.ID != want {
			t.Errorf("Find(%q) = %s, %v, want %s", give, rec.ID, err, want)
		}
	}
	for _, give := range []string{"", "r_01A", "01", "r_9", "%", "_"} {
		if rec, err := s.Find(ctx, give); !errors.Is(err, ErrNotFound) {
			t.Errorf("Find(%q) = %s, %v, want ErrNotFound", give, rec.ID, err)
		}
	}
	if _, err := s.Record(ctx, "r_01A"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Record takes a prefix: %v", err)
	}
}

func TestFollowersSeeEveryChangeOnceAndInOrder(t *testing.T) {
	s := fast(t)
	decide(t, s, held("r_old", "c", "old"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	const n = 100
	var got []int64
	ready := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- s.Follow(ctx, Query{}, func(r record.Record) error {
			if len(got) == 0 {
				close(ready)
			}
			got = append(got, r.Seq)
			if r.Seq == n+1 {
				cancel()
			}
			return nil
		})
	}()
	<-ready
	for i := range n {
		decide(t, s, held(fmt.Sprint("r_", i), "c", fmt.Sprint(i)))
	}
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the follower did not see the last change")
	}
	want := []int64{}
	for i := range int64(n + 1) {
		want = append(want, i+1)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("seqs (-got +want):\n%s", diff)
	}
}

func TestSlowFollowerReadsOnFromTheDatabase(t *testing.T) {
	s := fast(t)
	const n = 3*ringChanges + 7
	decide(t, s, held("r_first", "other", "t"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	wrote := false
	got := map[string]int{}
	err := s.Follow(ctx, Query{}, func(r record.Record) error {
		if !wrote { // while this follower is busy, more happens than is kept in memory
			wrote = true
			fill(t, s, n)
		}
		got[r.ID]++
		if r.Seq == n+1 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if len(got) != n+1 {
		t.Errorf("%d records, want %d", len(got), n+1)
	}
	for id, times := range got {
		if times != 1 {
			t.Errorf("%s came %d times", id, times)
		}
	}
}

func TestFollowFromAnOldSeqFilters(t *testing.T) {
	s := fast(t)
	fill(t, s, 2*ringChanges)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var got []string
	err := s.Follow(ctx, Query{After: 5, Connection: "c3", Outcome: record.Failed}, func(r record.Record) error {
		got = append(got, r.ID)
		if len(got) == 51 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	var want []string
	for i := 5; i < 2*ringChanges; i++ {
		if i%10 == 3 && i%4 == 3 {
			want = append(want, fmt.Sprintf("r_%06d", i))
		}
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("records (-got +want):\n%s", diff)
	}
}

func TestPrune(t *testing.T) {
	ctx := context.Background()
	var clock atomic.Int64
	now := func() time.Time { return time.Unix(clock.Load(), 0) }
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock.Store(start.Unix())
	s, err := Open(ctx, filepath.Join(t.TempDir(), "a.db"), Options{Now: now})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	fill(t, s, 3*pruneBatch+50)
	op := held("r_op", "", "")
	op.Record.By, op.Operation = "person", "op"
	decide(t, s, op)
	decide(t, s, held("r_held", "c", "t_held"))
	done := held("r_done", "c", "t_done")
	decide(t, s, done)
	intend(t, s, done.Record)
	done.Record.Outcome, done.Record.Reason = record.Delivered, ""
	must(t, s.Finish(ctx, done.Record, false))
	_, err = s.Cancel(ctx, "r_op", record.ByUser, "")
	must(t, err)
	clock.Store(start.Add(48 * time.Hour).Unix())
	decide(t, s, held("r_new", "c", "t_new"))
	must(t, s.Prune(ctx, 24*time.Hour, now()))
	recs, err := s.Log(ctx, Query{N: 1000})
	must(t, err)
	if diff := cmp.Diff(ids(recs), []string{"r_held", "r_new"}); diff != "" {
		t.Errorf("what is left (-got +want):\n%s", diff)
	}
	if ok, err := s.Decide(ctx, held("r_again", "c", "t_done")); ok || err != nil {
		t.Errorf("a turn whose record was pruned fired again: %t, %v", ok, err)
	}
	if ours, err := s.Ours(ctx, "reviewer", "text of r_done", time.Time{}); ours || err != nil {
		t.Errorf("hash of a pruned text: %t, %v", ours, err)
	}
	for _, table := range []string{"operations", "bodies", "typed"} {
		var n int
		must(t, s.read.QueryRow("SELECT count(*) FROM "+table).Scan(&n))
		if want := map[string]int{"bodies": 2}[table]; n != want {
			t.Errorf("%d rows in %s, want %d", n, table, want)
		}
	}
	clock.Store(start.Add(100 * 24 * time.Hour).Unix())
	must(t, s.Prune(ctx, 24*time.Hour, now()))
	var turns int
	must(t, s.read.QueryRow("SELECT count(*) FROM turns").Scan(&turns))
	if turns != 0 {
		t.Errorf("%d turns are remembered after 100 days", turns)
	}
}

func TestNoQueryOfTheLogSortsTheWholeTable(t *testing.T) {
	s := fast(t)
	fill(t, s, 100)
	for _, column := range []string{"connection", "from_agent", "to_agent", "outcome"} {
		var id, parent, unused int
		var plan string
		must(t, s.read.QueryRow("EXPLAIN QUERY PLAN SELECT ord FROM records WHERE "+column+" = 'x' ORDER BY ord DESC LIMIT 5").Scan(&id, &parent, &unused, &plan))
		if !strings.Contains(plan, "USING COVERING INDEX") {
			t.Errorf("%s: %s", column, plan)
		}
	}
}

func BenchmarkLog(b *testing.B) {
	ctx, s := context.Background(), open(b)
	fill(b, s, 100000)
	for name, q := range map[string]Query{
		"newest":     {N: 50},
		"connection": {N: 50, Connection: "c3"},
		"agent":      {N: 50, Agent: "coder"},
		"outcome":    {N: 50, Outcome: record.Failed},
		"since":      {N: 50, Since: time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)},
		"none match": {N: 50, Connection: "c3", Agent: "coder", Since: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)},
		"after":      {N: 50, After: 99900},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Log(ctx, q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecide(b *testing.B) {
	s := open(b)
	for i := 0; b.Loop(); i++ {
		decide(b, s, held(fmt.Sprint("r_", i), "c", fmt.Sprint(i)))
	}
}
