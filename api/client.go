package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/madohub/madohub/record"
)

const (
	dialTimeout   = 2 * time.Second
	clientTimeout = time.Minute // for answers that need no waiting; deciding may take a model's time
	maxAnswer     = 256 << 20   // of one answer
	maxEvent      = 32 << 20    // of one event: two texts and their JSON
)

// ErrNoDaemon says that nobody answers on the control socket.
var ErrNoDaemon = errors.New("daemon is not running")

// ErrStreamEnded says that the daemon ended a stream, as it does when it stops.
var ErrStreamEnded = errors.New("the daemon ended the stream")

// Client talks to a daemon. Errors that the daemon gave are of type *Error.
type Client struct {
	// Version and Mismatch are optional: Mismatch is called with the version of a daemon that is not Version.
	Version  string
	Mismatch func(daemon string)

	socket string
	http   *http.Client
}

// NewClient makes a client for the control socket at a path. Nothing is dialled yet.
func NewClient(socket string) *Client {
	c := &Client{socket: socket}
	dialer := net.Dialer{Timeout: dialTimeout}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				conn, err := dialer.DialContext(ctx, "unix", socket)
				return conn, c.noDaemon(ctx, err)
			},
			DisableKeepAlives: true, // a command asks once or twice: nothing is left open behind it
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

func (c *Client) noDaemon(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w (no socket at %s)", ErrNoDaemon, c.socket)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w for this user (the socket %s is another user's)", ErrNoDaemon, c.socket)
	}
	return fmt.Errorf("%w (nobody answers on %s): %w", ErrNoDaemon, c.socket, err)
}

// Health asks whether the daemon serves.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return get[Health](ctx, c, "/v1/health", nil)
}

// Status asks for the state of everything.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "/v1/status", nil)
}

// Log lists records.
func (c *Client) Log(ctx context.Context, q LogQuery) ([]record.Record, error) {
	return get[[]record.Record](ctx, c, "/v1/log", q.values())
}

// Record reads one record by its id, an unambiguous beginning of it, or "last".
func (c *Client) Record(ctx context.Context, id string) (record.Record, error) {
	return get[record.Record](ctx, c, "/v1/records/"+url.PathEscape(id), nil)
}

// Explain tells why a connection did or didn't fire, or what became of a record.
func (c *Client) Explain(ctx context.Context, what string) (Explanation, error) {
	return get[Explanation](ctx, c, "/v1/explain/"+url.PathEscape(what), nil)
}

// Queue lists what is held.
func (c *Client) Queue(ctx context.Context) ([]Queued, error) {
	return get[[]Queued](ctx, c, "/v1/queue", nil)
}

// Cancel takes a text out of the queue.
func (c *Client) Cancel(ctx context.Context, id string) (record.Record, error) {
	return post[record.Record](ctx, c, "/v1/queue/"+url.PathEscape(id)+"/cancel", nil)
}

// Send asks for a delivery by hand.
func (c *Client) Send(ctx context.Context, s Send) (record.Record, error) {
	return post[record.Record](ctx, c, "/v1/send", s)
}

// Wait returns when a record is final, or ctx ends.
func (c *Client) Wait(ctx context.Context, id string) (record.Record, error) {
	return ask[record.Record](ctx, c, http.MethodGet, "/v1/records/"+url.PathEscape(id)+"/wait", nil, nil)
}

// Answer returns when the turn that a delivery opened has ended, or ctx ends.
func (c *Client) Answer(ctx context.Context, id string) (Answer, error) {
	return ask[Answer](ctx, c, http.MethodGet, "/v1/records/"+url.PathEscape(id)+"/answer", nil, nil)
}

// Switch pauses, resumes or rearms connections: names of connections or flows, or all.
func (c *Client) Switch(ctx context.Context, action string, names []string, all bool) ([]Connection, error) {
	return post[[]Connection](ctx, c, "/v1/"+url.PathEscape(action), SwitchRequest{Names: names, All: all})
}

// Fire fires a connection now.
func (c *Client) Fire(ctx context.Context, connection string) (record.Record, error) {
	return post[record.Record](ctx, c, "/v1/connections/"+url.PathEscape(connection)+"/fire", nil)
}

// Resolve settles an unknown: typed, retry or drop.
func (c *Client) Resolve(ctx context.Context, id, how string) (record.Record, error) {
	return post[record.Record](ctx, c, "/v1/records/"+url.PathEscape(id)+"/resolve", ResolveRequest{How: how})
}

// Approve lets an item go that needs approval, or denies it.
func (c *Client) Approve(ctx context.Context, id string, yes bool) (record.Record, error) {
	verb := "/deny"
	if yes {
		verb = "/approve"
	}
	return post[record.Record](ctx, c, "/v1/records/"+url.PathEscape(id)+verb, nil)
}

// Reload makes the daemon read its configuration again.
func (c *Client) Reload(ctx context.Context) (ConfigState, error) {
	return post[ConfigState](ctx, c, "/v1/reload", nil)
}

// Follow sends every change to each, until ctx ends, each returns an error, or the daemon ends the stream (ErrStreamEnded):
// with q.After those after it, without it first what Log would list. It does not connect again by itself: who wants that
// calls again with After as the seq of the last record.
func (c *Client) Follow(ctx context.Context, q LogQuery, each func(record.Record) error) error {
	res, err := c.do(ctx, http.MethodGet, "/v1/log/follow", q.values(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // cuts the stream off; what could fail there was read already
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxEvent)
	event, data := "", ""
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			event = value
		case "data":
			data = value
		case "": // the end of an event, or a comment
			if lines.Text() != "" {
				continue
			}
			if err := deliverEvent(event, data, each); err != nil {
				return err
			}
			event, data = "", ""
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrStreamEnded, err)
	}
	return ErrStreamEnded
}

func deliverEvent(event, data string, each func(record.Record) error) error {
	switch event {
	case "record":
		var rec record.Record
		if err := json.Unmarshal([]byte(data), &rec); err != nil {
			return fmt.Errorf("read an event of the daemon: %w", err)
		}
		return each(rec)
	case "error":
		e := &Error{Status: http.StatusInternalServerError}
		if err := json.Unmarshal([]byte(data), e); err != nil {
			return fmt.Errorf("read an error of the daemon: %w", err)
		}
		return e
	}
	return nil // a comment, or what a newer daemon has to say
}

// values is the query as it stands in a URL.
func (q LogQuery) values() url.Values {
	v := url.Values{}
	set := func(key, value string) {
		if value != "" {
			v.Set(key, value)
		}
	}
	if q.N > 0 {
		set("n", strconv.Itoa(q.N))
	}
	if q.After > 0 {
		set("after", strconv.FormatInt(q.After, 10))
	}
	if !q.Since.IsZero() {
		set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	set("connection", q.Connection)
	set("agent", q.Agent)
	set("outcome", string(q.Outcome))
	return v
}

func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	return ask[T](ctx, c, http.MethodGet, path, query, nil)
}

func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	return ask[T](ctx, c, http.MethodPost, path, nil, body)
}

func ask[T any](ctx context.Context, c *Client, method, path string, query url.Values, body any) (out T, err error) {
	res, err := c.do(ctx, method, path, query, body)
	if err != nil {
		return out, err
	}
	defer func() { _ = res.Body.Close() }() // it was read to its end, or there was an error already
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(&out); err != nil {
		return out, fmt.Errorf("read the daemon's answer to %s %s: %w", method, path, err)
	}
	return out, nil
}

// do sends one request. An answer that is an error becomes *Error.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		payload = bytes.NewReader(b)
	}
	target := "http://madohub" + path // the host is never looked up: the dialer knows one socket only
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, payload)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the URL is none that a person knows
		}
		if errors.Is(err, ErrNoDaemon) {
			return nil, err
		}
		return nil, fmt.Errorf("ask the daemon: %w", err)
	}
	if v := res.Header.Get(VersionHeader); v != "" && c.Version != "" && v != c.Version && c.Mismatch != nil {
		c.Mismatch(v)
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	e := &Error{Status: res.StatusCode}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(e); err != nil || e.Message == "" {
		e.Message = fmt.Sprintf("the daemon answered %s", res.Status)
	}
	return nil, e
}
