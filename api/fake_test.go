package api

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/madohub/madohub/record"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(peerEnv); path != "" {
		visit(path)
		return
	}
	goleak.VerifyTestMain(m)
}

const key = "sk-" + "aB3dE5fG7hJ9kL1mN3pQ5" // made up

// fakeControl answers with what a test put there and notes what it was asked.
type fakeControl struct {
	who func(pid int) Caller // nil: a person

	mu     sync.Mutex
	asked  []any         // mu
	begun  chan struct{} // closed when the first request is noted
	once   sync.Once
	caller Caller
	fail   error         // mu: of everything
	final  chan struct{} // Wait and Answer return when it is closed
	feed   chan record.Record
	query  LogQuery // mu: of Follow
	ended  chan error
}

func newFake() *fakeControl {
	return &fakeControl{begun: make(chan struct{}), final: make(chan struct{}), feed: make(chan record.Record), ended: make(chan error, 8)}
}

func (f *fakeControl) note(c Caller, what ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.caller = c
	f.asked = append(f.asked, what...)
	f.once.Do(func() { close(f.begun) })
	return f.fail
}

func (f *fakeControl) rec(id string) record.Record {
	return record.Record{
		ID: id, To: "reviewer", Outcome: record.Held, Reason: record.TargetBusy, Text: "use " + key, SourceText: key,
		Detail: "detail " + key, Time: time.Date(2026, 11, 30, 15, 4, 5, 0, time.UTC), Seq: 7,
	}
}

func (f *fakeControl) Status(context.Context) (Status, error) {
	return Status{Daemon: Daemon{PID: 1, Version: "v1"}, Queue: []Queued{{ID: "r_1", Detail: key}}, Config: ConfigState{Error: key}}, f.note(Caller{}, "status")
}

func (f *fakeControl) Log(_ context.Context, q LogQuery) ([]record.Record, error) {
	return []record.Record{f.rec("r_1"), f.rec("r_2")}, f.note(Caller{}, q)
}

func (f *fakeControl) Record(_ context.Context, id string) (record.Record, error) {
	return f.rec(id), f.note(Caller{}, "record", id)
}

func (f *fakeControl) Follow(ctx context.Context, q LogQuery, each func(record.Record) error) error {
	f.mu.Lock()
	f.query = q
	f.mu.Unlock()
	err := f.follow(ctx, each)
	f.ended <- err
	return err
}

func (f *fakeControl) follow(ctx context.Context, each func(record.Record) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case rec, ok := <-f.feed:
			if !ok {
				return errors.New("the database is gone, " + key)
			}
			if err := each(rec); err != nil {
				return err
			}
		}
	}
}

func (f *fakeControl) Explain(_ context.Context, what string) (Explanation, error) {
	rec := f.rec("r_1")
	return Explanation{Record: &rec, Checks: []Check{{Name: "idle", OK: true, Text: key}}, Verdict: key}, f.note(Caller{}, "explain", what)
}

func (f *fakeControl) Queue(context.Context) ([]Queued, error) {
	return []Queued{{ID: "r_1", Detail: key}}, f.note(Caller{}, "queue")
}

func (f *fakeControl) Cancel(_ context.Context, c Caller, id string) (record.Record, error) {
	return f.rec(id), f.note(c, "cancel", id)
}

func (f *fakeControl) Send(_ context.Context, c Caller, s Send) (record.Record, error) {
	return f.rec("r_sent"), f.note(c, s)
}

func (f *fakeControl) Wait(ctx context.Context, id string) (record.Record, error) {
	return f.rec(id), errors.Join(f.note(Caller{}, "wait", id), f.until(ctx))
}

func (f *fakeControl) Answer(ctx context.Context, id string) (Answer, error) {
	return Answer{Record: f.rec(id), Answer: "it is " + key}, errors.Join(f.note(Caller{}, "answer", id), f.until(ctx))
}

func (f *fakeControl) until(ctx context.Context) error {
	select {
	case <-f.final:
		return nil
	case <-ctx.Done():
		f.ended <- ctx.Err()
		return ctx.Err()
	}
}

func (f *fakeControl) Switch(_ context.Context, c Caller, action string, names []string, all bool) ([]Connection, error) {
	return []Connection{{Name: "review"}}, f.note(c, "switch", action, names, all)
}

func (f *fakeControl) Fire(_ context.Context, c Caller, connection string) (record.Record, error) {
	return f.rec("r_fired"), f.note(c, "fire", connection)
}

func (f *fakeControl) Resolve(_ context.Context, c Caller, id, how string) (record.Record, error) {
	return f.rec(id), f.note(c, "resolve", id, how)
}

func (f *fakeControl) Approve(_ context.Context, c Caller, id string, yes bool) (record.Record, error) {
	return f.rec(id), f.note(c, "approve", id, yes)
}

func (f *fakeControl) Reload(_ context.Context, c Caller) (ConfigState, error) {
	return ConfigState{File: "f", Generation: 2}, f.note(c, "reload")
}

func (f *fakeControl) Identify(pid int) Caller {
	if f.who != nil {
		return f.who(pid)
	}
	return Caller{PID: pid}
}

// serve runs a server on a real socket until the test ends, and returns the socket's path.
func serve(t testing.TB, f *fakeControl, change ...func(*Handler)) string {
	t.Helper()
	path := filepath.Join(socketDir(t), "s")
	ln, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	h := NewHandler(f, NewMetrics())
	h.Version = "v1"
	for _, fn := range change {
		fn(h)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, ln, h) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("Serve did not end")
		}
	})
	return path
}

// socketDir is a folder with a short name: t.TempDir may be longer than a socket's path can be.
func socketDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mh")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func dial(t testing.TB, path string) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
