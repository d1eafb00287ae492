package api

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/madohub/madohub/record"
)

// Health answers GET /v1/health: the daemon serves.
type Health struct {
	OK      bool      `json:"ok"`
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
}

// SwitchRequest asks for POST /v1/pause, /v1/resume and /v1/rearm.
type SwitchRequest struct {
	Names []string `json:"names,omitempty"` // connections or flows
	All   bool     `json:"all,omitempty"`
}

// ResolveRequest asks for POST /v1/records/{id}/resolve.
type ResolveRequest struct {
	How string `json:"how"` // typed, retry or drop
}

const maxNames = 1000 // connections in one request

func (h *Handler) health(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, Health{OK: true, PID: os.Getpid(), Version: h.Version, Started: h.started.UTC()})
}

func (h *Handler) status(w http.ResponseWriter, r *http.Request) error {
	s, err := h.control.Status(r.Context())
	if err != nil {
		return err
	}
	s.Queue, s.Config.Error = shownQueue(s.Queue), record.Mask(s.Config.Error)
	return writeJSON(w, s)
}

func (h *Handler) log(w http.ResponseWriter, r *http.Request) error {
	q, err := parseLogQuery(r.URL.Query(), time.Now())
	if err != nil {
		return err
	}
	recs, err := h.control.Log(r.Context(), q)
	if err != nil {
		return err
	}
	shown := make([]record.Record, len(recs))
	for i, rec := range recs {
		shown[i] = rec.Shown()
	}
	return writeJSON(w, shown)
}

// parseLogQuery reads the query of the log's routes. Words that are not known are errors: a filter that is silently not
// applied would show too much.
func parseLogQuery(v url.Values, now time.Time) (q LogQuery, err error) {
	for key, values := range v {
		if len(values) != 1 {
			return q, badQuery(key, "stands there more than once")
		}
		switch value := values[0]; key {
		case "n":
			q.N, err = strconv.Atoi(value)
			if err != nil || q.N < 0 || q.N > 10000 {
				return q, badQuery(key, "must be a number from 0 to 10000")
			}
		case "connection":
			q.Connection, err = value, checkName(key, value)
		case "agent":
			q.Agent, err = value, checkName(key, value)
		case "outcome":
			q.Outcome = record.Outcome(value)
			if !slices.Contains(record.Outcomes, q.Outcome) {
				return q, badQuery(key, fmt.Sprintf("must be one of %v", record.Outcomes))
			}
		case "since":
			if q.Since, err = parseSince(value, now); err != nil {
				return q, badQuery(key, "must be a time such as 2026-11-30T15:04:05Z, or an age such as 90m")
			}
		case "after":
			if q.After, err = strconv.ParseInt(value, 10, 64); err != nil || q.After < 0 {
				return q, badQuery(key, "must be a seq")
			}
		default:
			return q, badQuery(key, "is not known here")
		}
		if err != nil {
			return q, err
		}
	}
	return q, nil
}

func parseSince(value string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, value); err == nil {
		return t, nil
	}
	age, err := time.ParseDuration(value)
	return now.Add(-age.Abs()), err
}

func badQuery(key, problem string) error {
	return &Error{Status: http.StatusBadRequest, Message: fmt.Sprintf("query parameter %q %s", clip(key), problem)}
}

func (h *Handler) record(w http.ResponseWriter, r *http.Request) error {
	id, err := name(r, "id")
	if err != nil {
		return err
	}
	rec, err := h.control.Record(r.Context(), id)
	return show(w, rec, err)
}

// show answers with a record as it may be shown.
func show(w http.ResponseWriter, rec record.Record, err error) error {
	if err != nil {
		return err
	}
	return writeJSON(w, rec.Shown())
}

func (h *Handler) wait(w http.ResponseWriter, r *http.Request) error {
	id, err := name(r, "id")
	if err != nil {
		return err
	}
	rec, err := h.control.Wait(r.Context(), id)
	return show(w, rec, err)
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request) error {
	id, err := name(r, "id")
	if err != nil {
		return err
	}
	a, err := h.control.Answer(r.Context(), id)
	if err != nil {
		return err
	}
	a.Record, a.Answer = a.Record.Shown(), record.Mask(a.Answer)
	return writeJSON(w, a)
}

func (h *Handler) explain(w http.ResponseWriter, r *http.Request) error {
	what, err := name(r, "what")
	if err != nil {
		return err
	}
	e, err := h.control.Explain(r.Context(), what)
	if err != nil {
		return err
	}
	if e.Record != nil {
		shown := e.Record.Shown()
		e.Record = &shown
	}
	e.Verdict = record.Mask(e.Verdict)
	e.Checks = slices.Clone(e.Checks)
	for i := range e.Checks {
		e.Checks[i].Text = record.Mask(e.Checks[i].Text)
	}
	return writeJSON(w, e)
}

func (h *Handler) queue(w http.ResponseWriter, r *http.Request) error {
	queue, err := h.control.Queue(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, shownQueue(queue))
}

// shownQueue is a queue as it may be shown.
func shownQueue(queue []Queued) []Queued {
	shown := make([]Queued, len(queue))
	for i, q := range queue {
		q.Detail = record.Mask(q.Detail)
		shown[i] = q
	}
	return shown
}

func (h *Handler) cancel(w http.ResponseWriter, r *http.Request) error {
	id, err := name(r, "id")
	if err != nil {
		return err
	}
	rec, err := h.control.Cancel(r.Context(), callerOf(r.Context()), id)
	return show(w, rec, err)
}

func (h *Handler) send(w http.ResponseWriter, r *http.Request) error {
	var s Send
	if err := h.body(w, r, &s); err != nil {
		return err
	}
	if err := checkName("to", s.To); err != nil {
		return err
	}
	if len(s.Operation) > maxName {
		return &Error{Status: http.StatusBadRequest, Message: fmt.Sprintf("operation must be at most %d bytes", maxName)}
	}
	rec, err := h.control.Send(r.Context(), callerOf(r.Context()), s)
	return show(w, rec, err)
}

func switching(action string) func(*Handler, http.ResponseWriter, *http.Request) error {
	return func(h *Handler, w http.ResponseWriter, r *http.Request) error {
		var s SwitchRequest
		if err := h.body(w, r, &s); err != nil {
			return err
		}
		if s.All == (len(s.Names) > 0) || len(s.Names) > maxNames {
			return &Error{Status: http.StatusBadRequest, Message: fmt.Sprintf("%s takes names of connections or flows, or all", action)}
		}
		for _, n := range s.Names {
			if err := checkName("name", n); err != nil {
				return err
			}
		}
		changed, err := h.control.Switch(r.Context(), callerOf(r.Context()), action, s.Names, s.All)
		if err != nil {
			return err
		}
		if changed == nil {
			changed = []Connection{}
		}
		return writeJSON(w, changed)
	}
}

func (h *Handler) fire(w http.ResponseWriter, r *http.Request) error {
	connection, err := name(r, "name")
	if err != nil {
		return err
	}
	rec, err := h.control.Fire(r.Context(), callerOf(r.Context()), connection)
	return show(w, rec, err)
}

func (h *Handler) resolve(w http.ResponseWriter, r *http.Request) error {
	id, err := name(r, "id")
	if err != nil {
		return err
	}
	var req ResolveRequest
	if err := h.body(w, r, &req); err != nil {
		return err
	}
	if !slices.Contains([]string{"typed", "retry", "drop"}, req.How) {
		return &Error{Status: http.StatusBadRequest, Message: "how must be typed, retry or drop"}
	}
	rec, err := h.control.Resolve(r.Context(), callerOf(r.Context()), id, req.How)
	return show(w, rec, err)
}

func deciding(yes bool) func(*Handler, http.ResponseWriter, *http.Request) error {
	return func(h *Handler, w http.ResponseWriter, r *http.Request) error {
		id, err := name(r, "id")
		if err != nil {
			return err
		}
		rec, err := h.control.Approve(r.Context(), callerOf(r.Context()), id, yes)
		return show(w, rec, err)
	}
}

func (h *Handler) reload(w http.ResponseWriter, r *http.Request) error {
	state, err := h.control.Reload(r.Context(), callerOf(r.Context()))
	if err != nil {
		return err
	}
	return writeJSON(w, state)
}

func (h *Handler) scrape(w http.ResponseWriter, r *http.Request) error {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	h.metrics.ServeHTTP(w, r)
	return nil
}
