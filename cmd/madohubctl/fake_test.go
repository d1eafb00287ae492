package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sync/errgroup"

	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/record"
)

// fakeDaemon answers as a daemon would, without one.
type fakeDaemon struct {
	mu    sync.Mutex
	looks map[string]int // how often each record was looked at
	sent  []api.Send

	version string // what it says in the header, "" for nothing
}

func (f *fakeDaemon) Identify(pid int) api.Caller { return api.Caller{PID: pid} }

func (f *fakeDaemon) Status(context.Context) (api.Status, error) { return fakeStatus(), nil }

func (f *fakeDaemon) Log(_ context.Context, q api.LogQuery) ([]record.Record, error) {
	var out []record.Record
	for _, r := range fakeRecords() {
		if (q.Outcome == "" || r.Outcome == q.Outcome) && (q.Connection == "" || r.Connection == q.Connection) &&
			(q.Agent == "" || r.From == q.Agent || r.To == q.Agent) && (q.Since.IsZero() || r.Time.After(q.Since)) {
			out = append([]record.Record{r}, out...) // newest first
		}
	}
	return out[:min(q.N, len(out))], nil
}

// Record knows the records of the log, and those that Send made: they end at the third look.
func (f *fakeDaemon) Record(_ context.Context, id string) (record.Record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks[id]++
	switch {
	case strings.HasPrefix(id, "r_going"):
		r := record.Record{ID: id, To: "coder", Outcome: record.Held}
		if f.looks[id] >= 3 {
			r.Outcome, r.Proof = record.Delivered, record.ProofTranscript
		}
		return r, nil
	case strings.HasPrefix(id, "r_typed"):
		return record.Record{ID: id, To: "amp", Outcome: record.Typed, Reason: record.NoProof, Detail: "look at the pane"}, nil
	case id == "last" || strings.HasPrefix(fakeRecords()[1].ID, id):
		return fakeRecords()[1], nil
	}
	return record.Record{}, notFound(fmt.Sprintf("no record %q", id))
}

func notFound(message string) error {
	return &api.Error{Status: http.StatusNotFound, Message: message, Hint: `"madohubctl log" lists the newest`}
}

func (f *fakeDaemon) Follow(ctx context.Context, _ api.LogQuery, each func(record.Record) error) error {
	for _, r := range fakeRecords() {
		if err := each(r); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

func (f *fakeDaemon) Explain(_ context.Context, what string) (api.Explanation, error) {
	if what != "review-loop/review" {
		return api.Explanation{}, notFound(fmt.Sprintf("there is no connection %q", what))
	}
	return api.Explanation{Connection: &fakeStatus().Connections[0], Checks: []api.Check{{Name: "source", Text: "coder is busy"}}, Verdict: "It would not fire now."}, nil
}

func (f *fakeDaemon) Queue(context.Context) ([]api.Queued, error) {
	return append(fakeStatus().Queue, api.Queued{ID: "r_01JDXK9999", Connection: "deploy", From: "coder", To: "build", Reason: record.NeedsApproval, Since: ago(time.Minute)}), nil
}

func (f *fakeDaemon) Cancel(_ context.Context, _ api.Caller, id string) (record.Record, error) {
	return record.Record{ID: id, Outcome: record.Cancelled, Reason: record.ByUser}, nil
}

func (f *fakeDaemon) Send(_ context.Context, _ api.Caller, s api.Send) (record.Record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = append(f.sent, s)
	r := record.Record{To: s.To, Outcome: record.Held, Detail: fmt.Sprintf("text %q operation %q", s.Text, s.Operation)}
	switch s.To {
	case "coder":
		r.ID = fmt.Sprintf("r_going%d", len(f.sent))
	case "amp":
		r.ID = "r_typed"
	case "busy":
		r.ID, r.Reason = "r_busy", record.TargetBusy
	case "shell":
		r.ID, r.Outcome, r.Reason = "r_shell", record.Blocked, record.MultiLine
	default:
		return r, &api.Error{Status: http.StatusNotFound, Message: fmt.Sprintf("there is no agent %q", s.To), Hint: `did you mean "coder"?`}
	}
	return r, nil
}

func (f *fakeDaemon) Wait(ctx context.Context, id string) (record.Record, error) {
	return f.Record(ctx, id)
}

func (f *fakeDaemon) Answer(_ context.Context, id string) (api.Answer, error) {
	switch id {
	case "r_busy":
		return api.Answer{Record: record.Record{ID: id, To: "busy", Outcome: record.Expired, Reason: record.HoldFor}}, nil
	case "r_typed":
		return api.Answer{Record: record.Record{ID: id, To: "amp", Outcome: record.Delivered}, Failure: record.Interrupted}, nil
	}
	return api.Answer{Record: record.Record{ID: id, To: "coder", Outcome: record.Delivered}, Answer: "It is done.\n\x1b[2JSee main.go."}, nil
}

func (f *fakeDaemon) Switch(_ context.Context, _ api.Caller, action string, names []string, all bool) ([]api.Connection, error) {
	if len(names) == 1 && names[0] == "nothing" {
		return nil, notFound(`there is no connection or flow "nothing"`)
	}
	c := fakeStatus().Connections[:1]
	c[0].LastOutcome, c[0].Waiting = "", ""
	if action == "pause" {
		c[0].Enabled, c[0].DisabledBy = false, record.DisabledByUser
	}
	if all {
		c[0].Name = "everything"
	}
	return c, nil
}

func (f *fakeDaemon) Fire(_ context.Context, _ api.Caller, connection string) (record.Record, error) {
	if connection == "review" {
		return record.Record{ID: "r_going0", Outcome: record.Held, Reason: record.Cooldown}, nil
	}
	return record.Record{ID: "r_stopped", Outcome: record.Stopped, Reason: record.MaxRounds}, nil
}

func (f *fakeDaemon) Resolve(_ context.Context, _ api.Caller, id, how string) (record.Record, error) {
	return record.Record{ID: id, Outcome: record.Typed, Reason: record.NoProof, Detail: "settled as " + how}, nil
}

func (f *fakeDaemon) Approve(_ context.Context, _ api.Caller, id string, yes bool) (record.Record, error) {
	if yes {
		return record.Record{ID: id, Outcome: record.Held}, nil
	}
	return record.Record{ID: id, Outcome: record.Blocked, Reason: record.Denied}, nil
}

func (f *fakeDaemon) Reload(context.Context, api.Caller) (api.ConfigState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks["reload"]++
	if f.looks["reload"] > 1 {
		return api.ConfigState{}, &api.Error{Status: http.StatusUnprocessableEntity, Message: "config.yaml:3:1: agents: nonsense", Hint: "the old configuration stays in force"}
	}
	return api.ConfigState{File: "/home/me/.config/madohub/config.yaml", Generation: 4}, nil
}

// serve answers on a socket until the function that it returns is called.
func (f *fakeDaemon) serve(socket string) (stop func(), err error) {
	ln, err := api.Listen(socket)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var g errgroup.Group
	h := api.NewHandler(f, nil)
	h.Version = f.version
	g.Go(func() error { return api.Serve(ctx, ln, h) })
	return func() {
		cancel()
		_ = g.Wait()
	}, nil
}

// cmdDaemon starts a fake daemon: daemon SOCKET [VERSION].
func cmdDaemon(ts *testscript.TestScript, _ bool, args []string) {
	f := &fakeDaemon{looks: map[string]int{}}
	if len(args) > 1 {
		f.version = args[1]
	}
	stop, err := f.serve(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Defer(stop)
}

// TestFollowEndsWithoutAnErrorWhenItIsInterrupted reads changes until it has what it wants.
func TestFollowEndsWithoutAnErrorWhenItIsInterrupted(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	stop, err := (&fakeDaemon{looks: map[string]int{}}).serve(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, flags := range [][]string{{}, {"--json"}} {
		ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
		out := &lineWatcher{enough: 3, then: interrupt}
		var errs strings.Builder
		c := testCtl(out, &errs)
		if code := c.run(ctx, append([]string{"madohubctl", "log", "-f", "--socket", socket}, flags...)); code != exitDone || errs.Len() > 0 {
			t.Errorf("%v: exit code %d, %s", flags, code, errs.String())
		}
		if got := strings.Count(out.seen.String(), "\n"); got != 3 || !strings.Contains(out.seen.String(), "r_01JDXK3F8Q2A") {
			t.Errorf("%v: got %s", flags, out.seen.String())
		}
		interrupt()
	}
}

// lineWatcher does something once enough lines were written.
type lineWatcher struct {
	seen   strings.Builder // not embedded: io.WriteString would find its WriteString
	enough int
	then   func()
}

func (w *lineWatcher) Write(b []byte) (int, error) {
	n, err := w.seen.Write(b)
	if strings.Count(w.seen.String(), "\n") >= w.enough {
		w.then()
	}
	return n, err
}
