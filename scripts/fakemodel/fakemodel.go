// Package fakemodel is a model server for tests: it speaks the Anthropic Messages API (streamed and not, and
// count_tokens) as far as Claude Code 2.1.197 and 2.1.332 use it, and needs no model.
//
// What it answers is chosen by the last marker of the form @@name:arg@@ in the newest prompt; without one, by
// Options.Answer, for which Rules may be used; without one, "Short answer: OK.".
//
//	short:TEXT        one block TEXT                      think           thinking, then text
//	echo:TEXT         the prompt without its marker       multi           two text blocks
//	verylong:N        N lines                             slow:SECONDS    streams that long
//	hold:NAME         answers once NAME is released       tool:CMD        text, Bash CMD, then a final answer
//	toolonly:CMD      the same without the first text     write:FILE      the Write tool
//	ask               a question dialog                   planexit        a plan to approve
//	task, task:N      a subagent that works N seconds     empty           no visible output
//	maxtokens         cut off                             refusal         refused
//	err:CODE          that HTTP error, not to be retried
package fakemodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Options configure a server.
type Options struct {
	Log    io.Writer                             // one JSON object a request; nil: none
	Answer func(prompts []string) (string, bool) // answers prompts without a marker, the newest is last; nil: none
}

// Server answers as an Anthropic server would. It is an http.Handler.
type Server struct {
	opt Options

	mu       sync.Mutex // guards what follows
	requests []Request
	held     map[string]chan struct{}
	message  int
}

// Request is what one request asked for, as Server understood it.
type Request struct {
	Time     time.Time `json:"time"`
	Method   string    `json:"method"`
	Path     string    `json:"path"`
	Model    string    `json:"model,omitempty"`
	Prompt   string    `json:"prompt,omitempty"` // newest prompt, whole
	Scenario string    `json:"scenario,omitempty"`
	Tools    []string  `json:"tools,omitempty"`
	ToolDone bool      `json:"tool_done,omitempty"` // the request brings a tool's result
	Stream   bool      `json:"stream,omitempty"`
}

// New makes a server.
func New(opt Options) *Server {
	return &Server{opt: opt, held: map[string]chan struct{}{}}
}

// Requests lists what was asked so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Release lets the answers go that wait for a name, now and later.
func (s *Server) Release(name string) {
	ch := s.gate(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-ch:
	default:
		close(ch)
	}
}

func (s *Server) gate(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.held[name]
	if ch == nil {
		ch = make(chan struct{})
		s.held[name] = ch
	}
	return ch
}

// maxBody bounds a request: a long conversation of Claude Code is a few megabytes.
const maxBody = 64 << 20

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("request-id", "req_fake")
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/_release":
		s.Release(r.URL.Query().Get("name"))
		writeJSON(w, http.StatusOK, object{})
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/messages"):
		s.messages(w, r)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/messages/count_tokens"):
		n, _ := io.Copy(io.Discard, io.LimitReader(r.Body, maxBody))
		writeJSON(w, http.StatusOK, object{"input_tokens": n / 4})
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models"):
		writeJSON(w, http.StatusOK, object{"data": []object{}, "has_more": false})
	case r.Method == http.MethodHead:
	case r.Method == http.MethodPost: // telemetry and the like
		s.note(Request{Method: r.Method, Path: r.URL.Path})
		writeJSON(w, http.StatusOK, object{})
	default:
		writeError(w, http.StatusNotFound, "no such path")
	}
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	var body apiRequest
	if err := json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(&body); err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	p := s.plan(&body)
	s.note(Request{
		Method: r.Method, Path: r.URL.Path, Model: body.Model, Prompt: p.prompt, Scenario: p.name,
		Tools: body.toolNames(), ToolDone: body.toolDone(), Stream: body.Stream,
	})
	if p.hold != "" {
		select {
		case <-s.gate(p.hold):
		case <-r.Context().Done():
			return
		}
	}
	if p.status != 0 {
		w.Header().Set("x-should-retry", "false")
		writeError(w, p.status, fmt.Sprintf("Fake %d error", p.status))
		return
	}
	s.mu.Lock()
	s.message++
	p.id = fmt.Sprintf("msg_fake_%d_%d", time.Now().UnixMilli(), s.message)
	s.mu.Unlock()
	if !body.Stream {
		writeJSON(w, http.StatusOK, p.message(body.Model))
		return
	}
	p.stream(r.Context(), w, body.Model)
}

func (s *Server) note(r Request) {
	r.Time = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if s.opt.Log != nil {
		enc := json.NewEncoder(s.opt.Log)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(r) // a log that can't be written must not change an answer
	}
}

type object = map[string]any

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

var errorTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
	429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
}

func writeError(w http.ResponseWriter, status int, text string) {
	kind := errorTypes[status]
	if kind == "" {
		kind = "api_error"
	}
	writeJSON(w, status, object{"type": "error", "error": object{"type": kind, "message": text}, "request_id": "req_fake"})
}
