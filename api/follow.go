package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/madohub/madohub/record"
)

// keepalive is how often a stream says that it is alive, so that both ends notice when the other is not.
const keepalive = 15 * time.Second

// follow streams changes as server-sent events. The id of an event is the seq of its change: a client that was cut off
// asks again with Last-Event-ID, or after=, and loses nothing.
func (h *Handler) follow(w http.ResponseWriter, r *http.Request) error {
	q, err := parseLogQuery(r.URL.Query(), time.Now())
	if err != nil {
		return err
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		if q.After, err = strconv.ParseInt(last, 10, 64); err != nil || q.After < 0 {
			return &Error{Status: http.StatusBadRequest, Message: "Last-Event-ID must be a seq"}
		}
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := &stream{w: w, control: http.NewResponseController(w), cancel: cancel}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	if err := s.send(": madohub\n\n"); err != nil {
		return nil //nolint:nilerr // the client is gone
	}
	stop := s.keepAlive()
	defer stop()
	err = h.control.Follow(ctx, q, func(rec record.Record) error { return s.record(rec.Shown()) })
	if err != nil && ctx.Err() == nil { // the status is sent already: the error is the last event
		s.fail(err)
	}
	return nil
}

// stream is the writing end of an event stream. Events come from the request's goroutine, signs of life from a timer's.
type stream struct {
	mu      sync.Mutex
	w       http.ResponseWriter // mu
	control *http.ResponseController
	closed  bool // mu: the handler has returned, w may no longer be used
	cancel  context.CancelFunc
}

func (s *stream) send(event string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return context.Canceled
	}
	// A client that takes nothing for this long is cut off; it asks again from where it was.
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := s.w.Write([]byte(event)); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}

func (s *stream) record(rec record.Record) error {
	b, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	return s.send(fmt.Sprintf("id: %d\nevent: record\ndata: %s\n\n", rec.Seq, b))
}

func (s *stream) fail(err error) {
	b, merr := json.Marshal(&Error{Message: record.Mask(err.Error())})
	if merr != nil {
		return
	}
	_ = s.send(fmt.Sprintf("event: error\ndata: %s\n\n", b))
}

// keepAlive writes comments until stop is called.
func (s *stream) keepAlive() (stop func()) {
	var timer *time.Timer
	s.mu.Lock()
	defer s.mu.Unlock()
	timer = time.AfterFunc(keepalive, func() {
		if s.send(": alive\n\n") != nil {
			s.cancel()
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.closed {
			timer.Reset(keepalive)
		}
	})
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = true
		timer.Stop()
	}
}
