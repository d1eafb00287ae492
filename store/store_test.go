package store

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/madohub/madohub/record"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		writeForEver(path)
	}
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue { // each check is hundreds of transactions
		if err := f.Value.Set("15"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

func open(t testing.TB) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "state", "madohub.db"))
}

func openAt(t testing.TB, path string) *Store { t.Helper(); return openWith(t, path, Options{}) }

// fast is a store without fsync.
func fast(t testing.TB) *Store {
	t.Helper()
	return openWith(t, filepath.Join(t.TempDir(), "state", "madohub.db"), Options{unsafe: true})
}

func openWith(t testing.TB, path string, opt Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// held is a decision whose text waits.
func held(id, connection, turn string) record.Decided {
	rec := &record.Record{
		ID: id, Connection: connection, From: "coder", To: "reviewer", Origin: record.OriginTrigger,
		Decision: record.Forward, Outcome: record.Held, Reason: record.TargetBusy, Text: "text of " + id, Turn: turn,
	}
	return record.Decided{Record: rec, Turn: turn, Item: &record.Item{Target: "reviewer", Expires: time.Now().Add(time.Hour)}}
}

func decide(t testing.TB, s *Store, d record.Decided) {
	t.Helper()
	if ok, err := s.Decide(context.Background(), d); err != nil || !ok {
		t.Fatalf("decide %s: %t, %v", d.Record.ID, ok, err)
	}
}

func counter(t testing.TB, s *Store, connection string) record.Counter {
	t.Helper()
	all, err := s.Counters(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return all[connection]
}

func get(t testing.TB, s *Store, id string) record.Record {
	t.Helper()
	rec, err := s.Record(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func intend(t testing.TB, s *Store, rec *record.Record) {
	t.Helper()
	if err := s.Intend(context.Background(), rec, record.Intent{ID: rec.ID, Pane: "%1", Stage: record.StageIntent, Lines: 2}); err != nil {
		t.Fatal(err)
	}
}

func TestDeliveryFromDecisionToProof(t *testing.T) {
	ctx, s := context.Background(), open(t)
	d := held("r_1", "review", "t1")
	d.Item.Approval = true
	decide(t, s, d)
	items, err := s.Queue(ctx)
	if err != nil || len(items) != 1 {
		t.Fatalf("queue: %v, %v", items, err)
	}
	want := *d.Item
	want.Expires = want.Expires.Round(0).UTC()
	if diff := cmp.Diff(items[0], want); diff != "" {
		t.Errorf("queued item (-got +want):\n%s", diff)
	}
	rec := d.Record
	if err := s.Intend(ctx, rec, record.Intent{ID: rec.ID}); !errors.Is(err, ErrConflict) {
		t.Errorf("intent of an item that waits for approval: %v, want ErrConflict", err)
	}
	if err := s.Approve(ctx, rec.ID, true, "person"); err != nil {
		t.Fatal(err)
	}
	*rec = get(t, s, rec.ID)
	if rec.Outcome != record.Held || rec.Reason != "" || rec.Steps[0].Name != "approved" {
		t.Errorf("after the approval: %+v", rec)
	}
	intend(t, s, rec)
	if rec.Round != 1 {
		t.Errorf("round %d, want 1", rec.Round)
	}
	in := record.Intent{ID: "r_1", Attempt: 1, Server: "7:9", Socket: "s", Pane: "%1", PanePID: 4, Prev: "m", Lines: 2, Line: 1, Stage: record.StagePasting, Mark: "{}"}
	if err := s.Advance(ctx, in); err != nil {
		t.Fatal(err)
	}
	un, err := s.Intents(ctx)
	if err != nil || len(un) != 1 {
		t.Fatalf("intents: %v, %v", un, err)
	}
	if diff := cmp.Diff(un[0].Intent, in); diff != "" {
		t.Errorf("intent (-got +want):\n%s", diff)
	}
	if un[0].Item.Record.Round != 1 || un[0].Item.Target != "reviewer" {
		t.Errorf("item of the intent: %+v", un[0].Item)
	}
	if items, _ := s.Queue(ctx); len(items) != 0 {
		t.Errorf("an item that is being typed still waits: %v", items)
	}
	rec.Outcome, rec.Reason, rec.Proof = record.Delivered, "", record.ProofTranscript
	if err := s.Finish(ctx, rec, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(get(t, s, "r_1"), *rec); diff != "" {
		t.Errorf("record (-got +want):\n%s", diff)
	}
	if un, _ := s.Intents(ctx); len(un) != 0 {
		t.Errorf("intents after the end: %v", un)
	}
	if err := s.Finish(ctx, rec, false); !errors.Is(err, ErrConflict) {
		t.Errorf("finish twice: %v, want ErrConflict", err)
	}
	c := counter(t, s, "review")
	if c.Round != 1 || c.LastTurn != "t1" || c.LastID != "r_1" || time.Since(c.LastDelivery) > time.Minute {
		t.Errorf("counter: %+v", c)
	}
}

func TestTurnFiresOnce(t *testing.T) {
	ctx, s := context.Background(), open(t)
	shadow := held("r_0", "c", "t1")
	shadow.Item, shadow.Record.Outcome, shadow.Record.Reason = nil, record.Skipped, record.Shadow
	decide(t, s, shadow)
	decide(t, s, held("r_1", "c", "t1"))
	for _, again := range []record.Decided{held("r_2", "c", "t1"), {Record: &record.Record{
		ID: "r_3", Connection: "c", Turn: "t1",
		Origin: record.OriginTrigger, Outcome: record.Skipped, Reason: record.Missed,
	}}} {
		if ok, err := s.Decide(ctx, again); ok || err != nil {
			t.Errorf("the same turn again: %t, %v", ok, err)
		}
		if _, err := s.Record(ctx, again.Record.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("a decision that was refused left a record: %v", err)
		}
	}
	decide(t, s, held("r_4", "other", "t1"))
	byHand := held("r_5", "c", "t1")
	byHand.Record.Origin = record.OriginCLI
	decide(t, s, byHand)
	byHand = held("r_6", "c", "t2")
	byHand.Record.Origin = record.OriginCLI
	decide(t, s, byHand)
	if ok, err := s.Decide(ctx, held("r_7", "c", "t2")); ok || err != nil {
		t.Errorf("a turn that was fired by hand fired again: %t, %v", ok, err)
	}
	if n, err := s.QueueLen(ctx, "reviewer"); n != 4 || err != nil {
		t.Errorf("%d wait (%v), want 4", n, err)
	}
}

func TestNewerAnswerReplacesOnlyWhatWasNotBegun(t *testing.T) {
	ctx, s := context.Background(), open(t)
	decide(t, s, held("r_1", "c", "t1"))
	second := held("r_2", "c", "t2")
	second.Replace = "r_1"
	decide(t, s, second)
	if r := get(t, s, "r_1"); r.Outcome != record.Cancelled || r.Reason != record.Superseded || !strings.Contains(r.Detail, "r_2") {
		t.Errorf("replaced record: %+v", r)
	}
	it, ok, err := s.Waiting(ctx, "c")
	if err != nil || !ok || it.Record.ID != "r_2" {
		t.Fatalf("waiting: %+v, %t, %v", it, ok, err)
	}
	intend(t, s, second.Record)
	if _, ok, err := s.Waiting(ctx, "c"); ok || err != nil {
		t.Errorf("what is being typed still waits (%v)", err)
	}
	third := held("r_3", "c", "t3")
	third.Replace = "r_2"
	decide(t, s, third)
	if r := get(t, s, "r_2"); r.Outcome != record.Held {
		t.Errorf("a record that is being typed was replaced: %+v", r)
	}
	second.Record.Outcome, second.Record.Reason = record.Delivered, ""
	if err := s.Finish(ctx, second.Record, false); err != nil {
		t.Error(err)
	}
}

func TestLoopEndsButNotOverAPause(t *testing.T) {
	ctx, s := context.Background(), open(t)
	if err := s.SetCounter(ctx, record.Counter{Connection: "paused", DisabledBy: record.DisabledByUser}); err != nil {
		t.Fatal(err)
	}
	d := held("r_1", "c", "t1")
	d.Item, d.Record.Outcome, d.Record.Reason = nil, record.Stopped, record.StopKeyword
	d.Disable = map[string]record.DisabledBy{"c": record.DisabledByKeyword, "paused": record.DisabledByKeyword, "new": record.DisabledByKeyword, "kept": ""}
	decide(t, s, d)
	got, err := s.Counters(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]record.Counter{
		"c":      {Connection: "c", DisabledBy: record.DisabledByKeyword, LastTurn: "t1", LastID: "r_1"},
		"paused": {Connection: "paused", DisabledBy: record.DisabledByUser},
		"new":    {Connection: "new", DisabledBy: record.DisabledByKeyword},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("counters (-got +want):\n%s", diff)
	}
}

func TestCounterKeepsTheRoundThatWasCountedMeanwhile(t *testing.T) {
	ctx, s := context.Background(), open(t)
	for i := range 3 {
		d := held(fmt.Sprint("r_", i), "c", fmt.Sprint("t", i))
		decide(t, s, d)
		intend(t, s, d.Record)
	}
	last := counter(t, s, "c").LastDelivery
	stale := record.Counter{Connection: "c", Round: 2, DisabledBy: record.DisabledByUser, LastTurn: "t9"}
	if err := s.SetCounter(ctx, stale); err != nil {
		t.Fatal(err)
	}
	want := record.Counter{Connection: "c", Round: 3, DisabledBy: record.DisabledByUser, LastTurn: "t9", LastID: "r_2", LastDelivery: last}
	if diff := cmp.Diff(counter(t, s, "c"), want); diff != "" {
		t.Errorf("counter (-got +want):\n%s", diff)
	}
}

func TestCancelAndIntendNeverBothWin(t *testing.T) {
	ctx, s := context.Background(), open(t)
	for i := range 30 {
		d := held(fmt.Sprintf("r_%02d", i), "c", fmt.Sprint("t", i))
		decide(t, s, d)
		var cancelled, intended, ended error
		var wg sync.WaitGroup
		wg.Go(func() { _, cancelled = s.Cancel(ctx, d.Record.ID, record.ByUser, "") })
		wg.Go(func() { r := *d.Record; intended = s.Intend(ctx, &r, record.Intent{ID: r.ID}) })
		wg.Go(func() { // the hold time runs out at the same moment
			r := *d.Record
			if items, err := s.Queue(ctx); err != nil || len(items) == 0 {
				return
			}
			r.Detail = "still busy"
			ended = s.Hold(ctx, &r)
		})
		wg.Wait()
		if (cancelled == nil) == (intended == nil) {
			t.Fatalf("cancel: %v, intend: %v: exactly one must win", cancelled, intended)
		}
		for _, err := range []error{cancelled, intended, ended} {
			if err != nil && !errors.Is(err, ErrConflict) {
				t.Errorf("the loser got %v, want ErrConflict", err)
			}
		}
		un, err := s.Intents(ctx)
		if err != nil || len(un) != 1 && intended == nil || len(un) != 0 && intended != nil {
			t.Fatalf("intents: %d, %v", len(un), err)
		}
		rec := get(t, s, d.Record.ID)
		if (rec.Outcome == record.Cancelled) != (cancelled == nil) {
			t.Fatalf("cancel: %v, but the record is %s", cancelled, rec.Outcome)
		}
		if intended == nil {
			rec.Outcome, rec.Reason = record.Delivered, ""
			if err := s.Finish(ctx, &rec, false); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestHoldWritesOnlyWhatChanged(t *testing.T) {
	ctx, s := context.Background(), open(t)
	d := held("r_1", "c", "t1")
	decide(t, s, d)
	seq := s.Seq()
	if err := s.Hold(ctx, d.Record); err != nil || s.Seq() != seq {
		t.Errorf("the same hold again: %v, seq %d, want %d", err, s.Seq(), seq)
	}
	d.Record.Reason = record.TargetDialog
	if err := s.Hold(ctx, d.Record); err != nil || s.Seq() != seq+1 || d.Record.Seq != seq+1 {
		t.Errorf("another reason: %v, seq %d (record %d), want %d", err, s.Seq(), d.Record.Seq, seq+1)
	}
	if _, err := s.Cancel(ctx, "r_1", record.ByUser, "by person"); err != nil {
		t.Fatal(err)
	}
	d.Record.Reason = record.TargetDraft
	if err := s.Hold(ctx, d.Record); !errors.Is(err, ErrConflict) {
		t.Errorf("hold of a cancelled record: %v, want ErrConflict", err)
	}
	if r := get(t, s, "r_1"); r.Outcome != record.Cancelled || r.Detail != "by person" {
		t.Errorf("the cancelled record: %+v", r)
	}
}

func TestDenyEndsTheRecord(t *testing.T) {
	ctx, s := context.Background(), open(t)
	d := held("r_1", "c", "t1")
	d.Item.Approval = true
	decide(t, s, d)
	if err := s.Approve(ctx, "r_1", false, "person"); err != nil {
		t.Fatal(err)
	}
	if r := get(t, s, "r_1"); r.Outcome != record.Blocked || r.Reason != record.Denied {
		t.Errorf("denied record: %+v", r)
	}
	if err := s.Approve(ctx, "r_1", true, "person"); !errors.Is(err, ErrConflict) {
		t.Errorf("approval of a denied record: %v, want ErrConflict", err)
	}
	if err := s.Approve(ctx, "r_9", true, "person"); !errors.Is(err, ErrNotFound) {
		t.Errorf("approval of no record: %v, want ErrNotFound", err)
	}
}

func TestAmendAndRetry(t *testing.T) {
	ctx, s := context.Background(), open(t)
	d := held("r_1", "c", "t1")
	decide(t, s, d)
	if err := s.Amend(ctx, d.Record); !errors.Is(err, ErrConflict) {
		t.Errorf("amend of a record that waits: %v", err)
	}
	intend(t, s, d.Record)
	d.Record.Outcome, d.Record.Reason = record.Unknown, record.Crash
	if err := s.Finish(ctx, d.Record, false); err != nil {
		t.Fatal(err)
	}
	d.Record.Outcome, d.Record.Reason = record.Held, record.TargetBusy
	d.Item.Record = *d.Record
	if err := s.Retry(ctx, *d.Item); err != nil {
		t.Fatal(err)
	}
	if err := s.Retry(ctx, *d.Item); !errors.Is(err, ErrConflict) {
		t.Errorf("retry of a record that waits: %v", err)
	}
	intend(t, s, d.Record)
	if d.Record.Round != 2 {
		t.Errorf("round of the retry is %d, want 2", d.Record.Round)
	}
	d.Record.Outcome, d.Record.Reason = record.Typed, record.NoProof
	if err := s.Finish(ctx, d.Record, false); err != nil {
		t.Fatal(err)
	}
	d.Record.Outcome, d.Record.Reason = record.Delivered, ""
	if err := s.Amend(ctx, d.Record); err != nil {
		t.Fatal(err)
	}
	late := *d.Record
	late.Outcome, late.Reason = record.Cancelled, record.ByUser
	if err := s.Amend(ctx, &late); !errors.Is(err, ErrConflict) {
		t.Errorf("what was proved was taken back: %v", err)
	}
}

func TestOurs(t *testing.T) {
	ctx, s := context.Background(), open(t)
	d := held("r_1", "c", "t1")
	d.Record.Text = "if x {\n\tcafe\u0301\n}\n"
	decide(t, s, d)
	ours := func(agent, text string, since time.Time) bool {
		t.Helper()
		ok, err := s.Ours(ctx, agent, text, since)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	taken := " if x {\r\n    caf\u00e9\r\n}"
	if ours("reviewer", taken, time.Time{}) {
		t.Error("a text that only waits is taken for typed")
	}
	intend(t, s, d.Record)
	if !ours("reviewer", taken, time.Now().Add(-time.Minute)) {
		t.Error("a text that is being typed is not known")
	}
	for name, got := range map[string]bool{
		"another agent": ours("coder", taken, time.Time{}), "another text": ours("reviewer", taken+"x", time.Time{}),
		"too old": ours("reviewer", taken, time.Now().Add(time.Minute)),
	} {
		if got {
			t.Errorf("%s: taken for ours", name)
		}
	}
	if err := s.Requeue(ctx, d.Record); err != nil {
		t.Fatal(err)
	}
	if ours("reviewer", taken, time.Time{}) {
		t.Error("a text of which no key was sent is taken for typed")
	}
	intend(t, s, d.Record)
	d.Record.Outcome, d.Record.Reason, d.Record.Text = record.Delivered, "", "cleaned"
	if err := s.Finish(ctx, d.Record, false); err != nil {
		t.Fatal(err)
	}
	if !ours("reviewer", "cleaned", time.Time{}) || !ours("reviewer", taken, time.Time{}) {
		t.Error("text of the intent and text after cleaning must both be known")
	}
}

func TestOperationIsDoneOnce(t *testing.T) {
	ctx, s := context.Background(), open(t)
	send := func(id, by, text string) record.Decided {
		d := held(id, "", "")
		d.Record.Origin, d.Record.By, d.Record.Text, d.Operation = record.OriginCLI, by, "typed: "+id, "op"
		d.Record.SourceText = text
		return d
	}
	decide(t, s, send("r_1", "person", "hello"))
	again := send("r_2", "person", "hello")
	if ok, err := s.Decide(ctx, again); ok || err != nil || again.Record.ID != "r_1" {
		t.Errorf("the same request: %t, %v, record %s, want r_1", ok, err, again.Record.ID)
	}
	if ok, err := s.Decide(ctx, send("r_3", "person", "other")); ok || !errors.Is(err, ErrConflict) {
		t.Errorf("another text: %t, %v, want ErrConflict", ok, err)
	}
	decide(t, s, send("r_4", "coder", "other"))
	if n, _ := s.QueueLen(ctx, "reviewer"); n != 2 {
		t.Errorf("%d wait, want 2", n)
	}
}

func TestTooLongTextIsRefusedAndNotCut(t *testing.T) {
	ctx, s := context.Background(), open(t)
	d := held("r_1", "c", "t1")
	d.Record.Text = strings.Repeat("x", maxText+1)
	if ok, err := s.Decide(ctx, d); ok || err == nil {
		t.Errorf("decide: %t, %v, want an error", ok, err)
	}
	d = held("r_2", "c", "t1")
	d.Record.Detail = strings.Repeat("é", maxDetail)
	for i := range record.MaxSteps + 10 {
		name := "gated"
		if i%2 == 0 {
			name = "held"
		}
		d.Record.Steps = append(d.Record.Steps, record.Step{Name: name, Note: fmt.Sprint(i)})
	}
	decide(t, s, d)
	r := get(t, s, "r_2")
	if len(r.Detail) > maxDetail || !strings.HasSuffix(r.Detail, "é"+cutMark) {
		t.Errorf("detail of %d bytes ends with %q", len(r.Detail), r.Detail[len(r.Detail)-20:])
	}
	if len(r.Steps) != record.MaxSteps || r.Steps[0].Note != "1" || r.Steps[record.MaxSteps-1].Note != fmt.Sprint(record.MaxSteps+9) {
		t.Errorf("%d steps, from %v", len(r.Steps), r.Steps[0])
	}
}

func TestCancelledContextWritesNothing(t *testing.T) {
	s := open(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Decide(ctx, held("r_1", "c", "t1")); !errors.Is(err, context.Canceled) {
		t.Errorf("decide: %v, want context.Canceled", err)
	}
	if _, err := s.Record(context.Background(), "r_1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("record: %v, want ErrNotFound", err)
	}
}

func TestEverythingSurvivesReopening(t *testing.T) {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "state", "a b?%c#.db")
	s := openAt(t, path)
	d := held("r_1", "c", "t1")
	decide(t, s, d)
	intend(t, s, d.Record)
	seq := s.Seq()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Decide(ctx, held("r_2", "c", "t2")); !errors.Is(err, sql.ErrConnDone) {
		t.Errorf("decide after Close: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("files after Close: %v, want the database alone", left)
	}
	s = openAt(t, path)
	if s.Seq() != seq || s.Corrupt() != "" {
		t.Errorf("seq %d, want %d; corrupt %q", s.Seq(), seq, s.Corrupt())
	}
	if un, err := s.Intents(ctx); err != nil || len(un) != 1 {
		t.Errorf("intents: %v, %v", un, err)
	}
	if ok, err := s.Decide(ctx, held("r_2", "c", "t1")); ok || err != nil {
		t.Errorf("the turn fired again after a restart: %t, %v", ok, err)
	}
}
