package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/record"
)

func TestClientAndServerAgree(t *testing.T) {
	ctx, f := context.Background(), newFake()
	close(f.final)
	c := NewClient(serve(t, f))
	shown := f.rec("").Shown()
	rec := func(id string) record.Record { r := shown; r.ID = id; return r }
	since := time.Date(2026, 11, 30, 1, 2, 3, 4, time.UTC)
	full := LogQuery{N: 5, Connection: "a→b/c d", Agent: "x", Outcome: record.Held, Since: since, After: 9}
	for name, tc := range map[string]struct {
		call  func() (any, error)
		want  any
		asked []any
	}{
		"status": {
			func() (any, error) { return c.Status(ctx) },
			Status{Daemon: Daemon{PID: 1, Version: "v1"}, Queue: []Queued{{ID: "r_1", Detail: "sk-[masked]"}}, Config: ConfigState{Error: "sk-[masked]"}},
			[]any{"status"},
		},
		"log":     {func() (any, error) { return c.Log(ctx, full) }, []record.Record{rec("r_1"), rec("r_2")}, []any{full}},
		"record":  {func() (any, error) { return c.Record(ctx, "last") }, rec("last"), []any{"record", "last"}},
		"explain": {func() (any, error) { return c.Explain(ctx, "a/b%2f?#é") }, Explanation{Record: ptr(rec("r_1")), Checks: []Check{{"idle", true, "sk-[masked]"}}, Verdict: "sk-[masked]"}, []any{"explain", "a/b%2f?#é"}},
		"queue":   {func() (any, error) { return c.Queue(ctx) }, []Queued{{ID: "r_1", Detail: "sk-[masked]"}}, []any{"queue"}},
		"cancel":  {func() (any, error) { return c.Cancel(ctx, "r_1") }, rec("r_1"), []any{"cancel", "r_1"}},
		"send": {
			func() (any, error) {
				return c.Send(ctx, Send{To: "reviewer", Text: "línea\n\t\x1b[31m", Operation: "o"})
			}, rec("r_sent"),
			[]any{Send{To: "reviewer", Text: "línea\n\t\x1b[31m", Operation: "o"}},
		},
		"wait":       {func() (any, error) { return c.Wait(ctx, "r_1") }, rec("r_1"), []any{"wait", "r_1"}},
		"answer":     {func() (any, error) { return c.Answer(ctx, "r_1") }, Answer{Record: rec("r_1"), Answer: "it is sk-[masked]"}, []any{"answer", "r_1"}},
		"pause":      {func() (any, error) { return c.Switch(ctx, "pause", []string{"a", "b"}, false) }, []Connection{{Name: "review"}}, []any{"switch", "pause", []string{"a", "b"}, false}},
		"rearm all":  {func() (any, error) { return c.Switch(ctx, "rearm", nil, true) }, []Connection{{Name: "review"}}, []any{"switch", "rearm", []string(nil), true}},
		"resume":     {func() (any, error) { return c.Switch(ctx, "resume", []string{"a"}, false) }, []Connection{{Name: "review"}}, []any{"switch", "resume", []string{"a"}, false}},
		"fire":       {func() (any, error) { return c.Fire(ctx, "a-b") }, rec("r_fired"), []any{"fire", "a-b"}},
		"resolve":    {func() (any, error) { return c.Resolve(ctx, "r_1", "drop") }, rec("r_1"), []any{"resolve", "r_1", "drop"}},
		"approve":    {func() (any, error) { return c.Approve(ctx, "r_1", true) }, rec("r_1"), []any{"approve", "r_1", true}},
		"deny":       {func() (any, error) { return c.Approve(ctx, "r_1", false) }, rec("r_1"), []any{"approve", "r_1", false}},
		"reload":     {func() (any, error) { return c.Reload(ctx) }, ConfigState{File: "f", Generation: 2}, []any{"reload"}},
		"bad switch": {func() (any, error) { _, err := c.Switch(ctx, "destroy", nil, true); return status(err), nil }, http.StatusNotFound, nil},
		"no names":   {func() (any, error) { _, err := c.Switch(ctx, "pause", nil, false); return status(err), nil }, http.StatusBadRequest, nil},
		"bad how":    {func() (any, error) { _, err := c.Resolve(ctx, "r_1", "x"); return status(err), nil }, http.StatusBadRequest, nil},
		"no target":  {func() (any, error) { _, err := c.Send(ctx, Send{Text: "x"}); return status(err), nil }, http.StatusBadRequest, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f.asked = nil
			got, err := tc.call()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, tc.want); diff != "" {
				t.Errorf("answer (-got +want):\n%s", diff)
			}
			if diff := cmp.Diff(f.asked, tc.asked); diff != "" {
				t.Errorf("asked (-got +want):\n%s", diff)
			}
		})
	}
	if h, err := c.Health(ctx); err != nil || !h.OK || h.PID != os.Getpid() || h.Version != "v1" {
		t.Errorf("health: %+v, %v", h, err)
	}
}

func ptr[T any](v T) *T { return &v }

func status(err error) int {
	var e *Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Status
}

func TestErrorsKeepStatusHintAndReason(t *testing.T) {
	ctx, f := context.Background(), newFake()
	c := NewClient(serve(t, f))
	f.fail = fmt.Errorf("outer: %w", &Error{Status: http.StatusConflict, Message: "taken, " + key, Hint: "wait", Reason: record.NotAllowed})
	_, err := c.Record(ctx, "r_1")
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *Error", err)
	}
	if diff := cmp.Diff(*e, Error{Status: http.StatusConflict, Message: "taken, sk-[masked]", Hint: "wait", Reason: record.NotAllowed}); diff != "" {
		t.Errorf("error (-got +want):\n%s", diff)
	}
	f.fail = errors.New("disk broke")
	if _, err := c.Status(ctx); status(err) != http.StatusInternalServerError || err.Error() != "disk broke" {
		t.Errorf("plain error: %v", err)
	}
}

func TestOnlyAPersonMayDoWhatOnlyAPersonMay(t *testing.T) {
	for name, tc := range map[string]struct {
		who     Caller
		refused bool
	}{
		"person":            {Caller{}, false},
		"agent":             {Caller{Agent: "coder", IsAgent: true}, true},
		"unconfigured":      {Caller{IsAgent: true}, true},
		"who can't be told": {Caller{Unknown: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, f := context.Background(), newFake()
			f.who = func(int) Caller { return tc.who }
			c := NewClient(serve(t, f))
			for action, call := range map[string]func() error{
				"rearm":   func() error { _, err := c.Switch(ctx, "rearm", nil, true); return err },
				"resume":  func() error { _, err := c.Switch(ctx, "resume", nil, true); return err },
				"resolve": func() error { _, err := c.Resolve(ctx, "r_1", "drop"); return err },
				"approve": func() error { _, err := c.Approve(ctx, "r_1", true); return err },
				"deny":    func() error { _, err := c.Approve(ctx, "r_1", false); return err },
				"reload":  func() error { _, err := c.Reload(ctx); return err },
				"fire":    func() error { _, err := c.Fire(ctx, "x"); return err },
				"cancel":  func() error { _, err := c.Cancel(ctx, "r_1"); return err },
			} {
				f.asked = nil
				err := call()
				var e *Error
				if got := errors.As(err, &e) && e.Status == http.StatusForbidden && e.Reason == record.NotHuman; got != tc.refused || (len(f.asked) == 0) != tc.refused {
					t.Errorf("%s: %v, asked %v; refused must be %t", action, err, f.asked, tc.refused)
				}
			}
			for action, call := range map[string]func() error{
				"send":   func() error { _, err := c.Send(ctx, Send{To: "x", Text: "y"}); return err },
				"pause":  func() error { _, err := c.Switch(ctx, "pause", nil, true); return err },
				"status": func() error { _, err := c.Status(ctx); return err },
			} {
				if err := call(); err != nil {
					t.Errorf("%s: %v", action, err)
				}
				want := tc.who
				want.PID = os.Getpid()
				if action != "status" && f.caller != want {
					t.Errorf("%s was asked by %+v, want %+v", action, f.caller, want)
				}
			}
		})
	}
}

func TestCallerIsIdentifiedOnceAndByTheKernel(t *testing.T) {
	f := newFake()
	n := 0
	f.who = func(pid int) Caller {
		n++
		if pid != os.Getpid() {
			t.Errorf("pid %d, want our own", pid)
		}
		return Caller{Agent: fmt.Sprint("call ", n), IsAgent: true}
	}
	conn := dial(t, serve(t, f))
	for range 3 {
		if _, err := io.WriteString(conn, "POST /v1/send HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{\"to\":\"a\"}"); err != nil {
			t.Fatal(err)
		}
		if got := readResponse(t, conn); got.StatusCode != http.StatusOK {
			t.Fatalf("status %d", got.StatusCode)
		}
	}
	if n != 1 || f.caller.Agent != "call 1" {
		t.Errorf("identified %d times, caller %+v", n, f.caller)
	}
}

func TestFollowStreamsEveryChange(t *testing.T) {
	f := newFake()
	c := NewClient(serve(t, f))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for i := range int64(3) {
			r := f.rec(fmt.Sprint("r_", i))
			r.Seq, r.Text = 10+i, "a\nb\r\ndata: x\n\nid: 5\u2028 "+key
			f.feed <- r
		}
	}()
	var seqs []int64
	err := c.Follow(ctx, LogQuery{After: 9, Connection: "c"}, func(r record.Record) error {
		seqs = append(seqs, r.Seq)
		if want := "a\nb\r\ndata: x\n\nid: 5\u2028 sk-[masked]"; r.Text != want {
			t.Errorf("text %q, want %q", r.Text, want)
		}
		if len(seqs) == 3 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || !cmp.Equal(seqs, []int64{10, 11, 12}) {
		t.Errorf("Follow: %v, seqs %v", err, seqs)
	}
	if f.query.After != 9 || f.query.Connection != "c" {
		t.Errorf("query %+v", f.query)
	}
	if err := await(t, "the end of Follow in the daemon", f.ended); err == nil {
		t.Error("it ended in the daemon without an error")
	}
}

func await[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

func TestFollowEnds(t *testing.T) {
	t.Run("when the callback says so", func(t *testing.T) {
		f, stop := newFake(), errors.New("stop")
		c := NewClient(serve(t, f))
		go func() { f.feed <- f.rec("r_1") }()
		if err := c.Follow(context.Background(), LogQuery{}, func(record.Record) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("Follow: %v", err)
		}
		if err := await(t, "the end of Follow in the daemon", f.ended); err == nil {
			t.Error("it ended in the daemon without an error")
		}
	})
	t.Run("with the daemon's error", func(t *testing.T) {
		f := newFake()
		c := NewClient(serve(t, f))
		close(f.feed)
		err := c.Follow(context.Background(), LogQuery{}, func(record.Record) error { return nil })
		if status(err) != http.StatusInternalServerError || err.Error() != "the database is gone, sk-[masked]" {
			t.Errorf("Follow: %v", err)
		}
	})
	t.Run("with the daemon", func(t *testing.T) {
		path, f := socketDir(t)+"/s", newFake()
		ln, err := Listen(path)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		served, followed, waited := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		got := make(chan record.Record, 1)
		go func() { served <- Serve(ctx, ln, NewHandler(f, NewMetrics())) }()
		go func() {
			followed <- NewClient(path).Follow(context.Background(), LogQuery{}, func(r record.Record) error { got <- r; return nil })
		}()
		go func() { _, err := NewClient(path).Wait(context.Background(), "r_1"); waited <- err }()
		f.feed <- f.rec("r_1")
		await(t, "record", got)
		await(t, "arrival of Wait", f.begun)
		cancel()
		if err := await(t, "end of Follow", followed); !errors.Is(err, ErrStreamEnded) {
			t.Errorf("Follow: %v, want ErrStreamEnded", err)
		}
		if err := await(t, "end of Wait", waited); status(err) != http.StatusServiceUnavailable {
			t.Errorf("Wait: %v, want %d", err, http.StatusServiceUnavailable)
		}
		if err := await(t, "end of Serve", served); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is left behind: %v", err)
		}
	})
}

func TestLastEventIDResumes(t *testing.T) {
	f := newFake()
	conn := dial(t, serve(t, f))
	fmt.Fprintf(conn, "GET /v1/log/follow?after=3 HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 42\r\n\r\n")
	go func() { f.feed <- f.rec("r_1") }()
	b := make([]byte, 4096)
	text := ""
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	for !strings.Contains(text, "\n\n\r\n") || !strings.Contains(text, "id: 7\nevent: record\ndata: {") {
		n, err := conn.Read(b)
		if err != nil {
			t.Fatalf("%v after %q", err, text)
		}
		text += string(b[:n])
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.query.After != 42 {
		t.Errorf("followed after %d, want 42", f.query.After)
	}
}

func TestWaitEndsWhenTheClientGoesAway(t *testing.T) {
	f := newFake()
	c := NewClient(serve(t, f))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { _, err := c.Answer(ctx, "r_1"); done <- err }()
	await(t, "arrival of Answer", f.begun)
	cancel()
	if err := await(t, "end of Answer", done); !errors.Is(err, context.Canceled) {
		t.Errorf("Answer: %v", err)
	}
	if err := await(t, "end of Answer in the daemon", f.ended); err == nil {
		t.Error("it ended in the daemon without an error")
	}
}

func TestNoDaemon(t *testing.T) {
	dir := socketDir(t)
	ctx := context.Background()
	_, err := NewClient(dir + "/none").Status(ctx)
	if want := "daemon is not running (no socket at " + dir + "/none)"; !errors.Is(err, ErrNoDaemon) || err.Error() != want {
		t.Errorf("no socket: %v, want %q", err, want)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: dir + "/dead", Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	_ = ln.Close()
	if _, err := NewClient(dir + "/dead").Status(ctx); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("dead socket: %v", err)
	}
	if err := NewClient(dir+"/dead").Follow(ctx, LogQuery{}, nil); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("follow: %v", err)
	}
}

func TestVersionMismatchIsTold(t *testing.T) {
	c := NewClient(serve(t, newFake()))
	var told []string
	c.Mismatch = func(v string) { told = append(told, v) }
	for _, v := range []string{"", "v1", "v2"} {
		c.Version = v
		if _, err := c.Status(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if !cmp.Equal(told, []string{"v1"}) {
		t.Errorf("told %v, want once v1", told)
	}
}

func TestQueriesThatAreNotUnderstoodAreRefused(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, q := range []string{"n=-1", "n=x", "n=10001", "outcome=lost", "since=yesterday", "after=-1", "after=x", "conection=a", "n=1&n=2", "connection=", "agent=a%00b", "agent=" + strings.Repeat("x", 300)} { //nolint:misspell // the wrong word is the test
		v, err := url.ParseQuery(q)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := parseLogQuery(v, now); status(err) != http.StatusBadRequest {
			t.Errorf("%s: %+v, %v", q, got, err)
		}
	}
	for give, want := range map[string]time.Time{"90m": now.Add(-90 * time.Minute), "2026-11-30T01:00:00+01:00": time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)} {
		if got, err := parseLogQuery(url.Values{"since": {give}}, now); err != nil || !got.Since.Equal(want) {
			t.Errorf("since=%s: %v, %v", give, got.Since, err)
		}
	}
}

func TestMetrics(t *testing.T) {
	f, m := newFake(), NewMetrics()
	path := socketDir(t) + "/s"
	ln, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, ln, NewHandler(f, m)) }()
	defer func() {
		cancel()
		if err := await(t, "end of Serve", done); err != nil {
			t.Errorf("Serve: %v", err)
		}
	}()
	for _, r := range []record.Record{
		{Outcome: record.Delivered, Timings: record.Timings{Type: 640, Prove: 120}},
		{Outcome: record.Held, Reason: record.TargetBusy},
		{Outcome: record.Skipped, Reason: record.NoAnswer},
		{Outcome: record.Skipped, Reason: "made_up"},
		{Outcome: "made_up"},
	} {
		m.Record(r)
	}
	m.SetNow(func() (Now, error) {
		return Now{Queue: map[string]int{"reviewer": 2}, Agents: map[record.State]int{record.StateIdle: 3}}, nil
	})
	m.Reloaded(nil)
	m.SetVersion("v1")
	res, err := NewClient(path).do(ctx, http.MethodGet, "/metrics", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, want := range []string{
		`madohub_records_total{outcome="delivered",reason=""} 1`, `madohub_records_total{outcome="skipped",reason="no_answer"} 1`,
		`madohub_records_total{outcome="blocked",reason="target_gone"} 0`, `madohub_queue_length{target="reviewer"} 2`,
		`madohub_agents{state="idle"} 3`, `madohub_agents{state="busy"} 0`, `madohub_delivery_seconds_sum 0.76`, `madohub_delivery_seconds_count 1`,
		`madohub_reloads_total{result="ok"} 1`, `madohub_build_info{version="v1"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("/metrics has no line %s", want)
		}
	}
	for _, unwanted := range []string{"made_up", `outcome="held"`} {
		if strings.Contains(text, unwanted) {
			t.Errorf("/metrics has %s", unwanted)
		}
	}
}

// A record in JSON is public: this is the form of contract and docs.
func TestErrorOnTheWire(t *testing.T) {
	conn := dial(t, serve(t, newFake()))
	fmt.Fprintf(conn, "GET /v1/nothing HTTP/1.1\r\nHost: x\r\n\r\n")
	res := readResponse(t, conn)
	var got map[string]any
	if err := json.Unmarshal([]byte(res.Header.Get("body")), &got); err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusNotFound || res.Header.Get("Content-Type") != "application/json" || res.Header.Get(VersionHeader) != "v1" ||
		got["error"] != "nothing is served at /v1/nothing" || got["hint"] == nil {
		t.Errorf("%d %v %v", res.StatusCode, res.Header, got)
	}
}
