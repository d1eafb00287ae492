package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/madohub/madohub/api/metrics"
	"github.com/madohub/madohub/record"
)

const (
	maxBody      = 16<<20 + 64<<10  // as much text as madohubctl reads, and its JSON; limits.max_text is far below
	maxName      = 256              // of an agent, a connection, a record in a path or query
	bodyTimeout  = 15 * time.Second // for a body to arrive
	writeTimeout = 15 * time.Second // for an answer, or one event, to be taken
)

// VersionHeader is the header in which the daemon tells its version with every answer.
const VersionHeader = "Madohub-Version"

// route is one entry of the table: who may ask stands beside what is asked.
type route struct {
	pattern     string // of http.ServeMux
	needsPerson bool   // A10: refused to callers that descend from an agent's process, or that can't be told
	serve       func(h *Handler, w http.ResponseWriter, r *http.Request) error
}

// routes is everything that the socket answers. `send` and `pause` are open to agents: the daemon handles a send as that
// agent's, and a pause only takes away.
var routes = []route{
	{"GET /v1/health", false, (*Handler).health},
	{"GET /v1/status", false, (*Handler).status},
	{"GET /v1/log", false, (*Handler).log},
	{"GET /v1/log/follow", false, (*Handler).follow},
	{"GET /v1/records/{id}", false, (*Handler).record},
	{"GET /v1/records/{id}/wait", false, (*Handler).wait},
	{"GET /v1/records/{id}/answer", false, (*Handler).answer},
	{"GET /v1/explain/{what}", false, (*Handler).explain},
	{"GET /v1/queue", false, (*Handler).queue},
	{"POST /v1/queue/{id}/cancel", true, (*Handler).cancel},
	{"POST /v1/send", false, (*Handler).send},
	{"POST /v1/pause", false, switching("pause")},
	{"POST /v1/resume", true, switching("resume")},
	{"POST /v1/rearm", true, switching("rearm")},
	{"POST /v1/connections/{name}/fire", true, (*Handler).fire},
	{"POST /v1/records/{id}/resolve", true, (*Handler).resolve},
	{"POST /v1/records/{id}/approve", true, deciding(true)},
	{"POST /v1/records/{id}/deny", true, deciding(false)},
	{"POST /v1/reload", true, (*Handler).reload},
	{"GET /metrics", false, (*Handler).scrape},
}

// Metrics are the numbers of GET /metrics, which the daemon feeds.
type Metrics = metrics.Metrics

// NewMetrics makes all metrics.
func NewMetrics() *Metrics { return metrics.New() }

// Now is what the gauges of GET /metrics show at the moment of a scrape.
type Now = metrics.Now

// Handler answers the requests of the control socket. Set Version before it serves.
type Handler struct {
	Version string // of the daemon

	control     Control
	metrics     *Metrics
	bodyTimeout time.Duration
	mux         *http.ServeMux
	started     time.Time
}

// NewHandler makes the handler of the control socket.
func NewHandler(c Control, m *Metrics) *Handler {
	h := &Handler{control: c, metrics: m, bodyTimeout: bodyTimeout, mux: http.NewServeMux(), started: time.Now()}
	for _, rt := range routes {
		h.mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := h.allowed(rt, r); err != nil {
				writeError(w, err)
				return
			}
			if err := rt.serve(h, w, r); err != nil {
				writeError(w, err)
			}
		})
	}
	h.mux.HandleFunc("/", h.noRoute)
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(VersionHeader, h.Version)
	// A page in a browser must not reach this socket through a proxy on the same machine; no client of ours sends these.
	if r.Header.Get("Origin") != "" || r.Header.Get("Referer") != "" {
		writeError(w, &Error{Status: http.StatusForbidden, Message: "requests of web pages are refused"})
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	h.mux.ServeHTTP(w, r)
	h.deadline(w) // net/http still reads what nobody wanted of the body
}

// deadline bounds how long a body may take to arrive. It must not stand while an answer is worked out: net/http then reads
// on to see whether the client is still there, and would take the deadline for its end.
func (h *Handler) deadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.bodyTimeout))
}

// allowed refuses what only a person may do to a caller that is not known to be one.
func (h *Handler) allowed(rt route, r *http.Request) error {
	c := callerOf(r.Context())
	if !rt.needsPerson || !c.IsAgent && !c.Unknown {
		return nil
	}
	who := "a process that can't be told"
	if c.IsAgent {
		who = "the process of an agent"
		if c.Agent != "" {
			who = fmt.Sprintf("the process of agent %q", c.Agent)
		}
	}
	return &Error{
		Status: http.StatusForbidden, Reason: record.NotHuman,
		Message: fmt.Sprintf("only a person may do this, and the request came from %s (pid %d)", who, c.PID),
		Hint:    "run it in a shell that no agent started",
	}
}

// noRoute answers what is not in the table, as JSON like everything else.
func (h *Handler) noRoute(w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := h.mux.Handler(other); pattern != "/" && method != r.Method {
			w.Header().Set("Allow", method)
			writeError(w, &Error{Status: http.StatusMethodNotAllowed, Message: fmt.Sprintf("this takes %s, not %s", method, clip(r.Method))})
			return
		}
	}
	writeError(w, &Error{
		Status: http.StatusNotFound, Message: fmt.Sprintf("nothing is served at %s", clip(r.URL.Path)),
		Hint: "docs/api.md lists what is; the client may be newer than the daemon",
	})
}

type callerKey struct{}

// callerOf is who asks. Without a connection of ours it can't be told.
func callerOf(ctx context.Context) Caller {
	if conn, ok := ctx.Value(callerKey{}).(*peerConn); ok {
		return conn.caller()
	}
	return Caller{Unknown: true}
}

// body reads the one JSON object of a request.
func (h *Handler) body(w http.ResponseWriter, r *http.Request, into any) error {
	h.deadline(w)
	err := decode(r.Body, into)
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return err
}

// decode reads one JSON object and nothing else; nothing at all is an empty object.
func decode(body io.Reader, into any) error {
	dec := json.NewDecoder(body)
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something stands after the JSON object")
		}
	}
	var tooBig *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &tooBig):
		return &Error{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the request has more than %d bytes", tooBig.Limit)}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Error{Status: http.StatusRequestTimeout, Message: "the request did not arrive in time"}
	}
	return &Error{Status: http.StatusBadRequest, Message: "the request can't be read: " + clip(err.Error())}
}

// name reads a part of the path.
func name(r *http.Request, part string) (string, error) {
	v := r.PathValue(part)
	if err := checkName(part, v); err != nil {
		return "", err
	}
	return v, nil
}

func checkName(what, v string) error {
	if v == "" || len(v) > maxName || strings.ContainsFunc(v, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\uFFFD' }) {
		return &Error{Status: http.StatusBadRequest, Message: fmt.Sprintf("%s must be 1 to %d printable bytes", what, maxName)}
	}
	return nil
}

// clip keeps a piece of a request that is shown in an error short and on one line.
func clip(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return -1
		}
		return c
	}, s)
	if r := []rune(s); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return s
}

func writeJSON(w http.ResponseWriter, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	write(w, http.StatusOK, b)
	return nil
}

func writeError(w http.ResponseWriter, err error) {
	out := &Error{Status: http.StatusInternalServerError, Message: err.Error()}
	var known *Error
	switch {
	case errors.As(err, &known):
		c := *known
		out = &c
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		out.Status, out.Message = http.StatusServiceUnavailable, "the daemon is stopping, or gave up waiting"
	}
	if out.Status < 400 || out.Status > 599 {
		out.Status = http.StatusInternalServerError
	}
	out.Message, out.Hint = record.Mask(out.Message), record.Mask(out.Hint)
	b, merr := json.Marshal(out)
	if merr != nil { // strings alone can't fail
		b = []byte(`{"error":"internal error"}`)
	}
	write(w, out.Status, b)
}

func write(w http.ResponseWriter, status int, body []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client that went away is no trouble of ours
}
