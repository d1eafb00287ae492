package fakemodel

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func ask(t *testing.T, url string, body object) (int, []byte) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(url+"/v1/messages?beta=true", "application/json", bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, got
}

func user(texts ...string) []object {
	var out []object
	for i, text := range texts {
		if i > 0 {
			out = append(out, object{"role": "assistant", "content": "answer"})
		}
		out = append(out, object{"role": "user", "content": []object{
			{"type": "text", "text": "<system-reminder>@@short:WRONG@@</system-reminder>"}, {"type": "text", "text": text},
		}})
	}
	return out
}

var tools = []object{{"name": "Bash"}, {"name": "Agent"}, {"name": "Write"}}

func TestAnswersByMarker(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	err := os.WriteFile(rules, []byte("- match: 'Round (\\d)'\n  answers: ['first $1', 'then $1']\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadRules(rules)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(New(Options{Answer: loaded.Answer}))
	defer srv.Close()
	for name, c := range map[string]struct {
		body object
		want string
	}{
		"plain":         {object{"messages": user("hi")}, "Short answer: OK."},
		"string":        {object{"messages": []object{{"role": "user", "content": "@@short:A b@@"}}}, "A b"},
		"last marker":   {object{"messages": user("@@short:A@@ @@short:B@@")}, "B"},
		"newest prompt": {object{"messages": user("@@short:A@@", "no marker")}, "Short answer: OK."},
		"echo":          {object{"messages": user("say this @@echo@@")}, "say this"},
		"multi":         {object{"messages": user("@@multi@@")}, "First block.|Second block."},
		"rule":          {object{"messages": user("Round 1 go")}, "first 1"},
		"rule again":    {object{"messages": user("Round 1 go", "other", "Round 7 go")}, "then 7"},
		"no tool":       {object{"messages": user("@@tool:ls@@")}, "(no such tool here)"},
		"tool":          {object{"messages": user("@@tool:ls@@"), "tools": tools}, "I will run a command.|Bash"},
		"tool done": {object{"tools": tools, "messages": append(user("@@tool:ls@@"),
			object{"role": "assistant", "content": []object{{"type": "tool_use"}}},
			object{"role": "user", "content": []object{{"type": "tool_result", "content": "x"}}})}, "Final after tool: it printed hi."},
		"title": {object{"system": "make a title", "messages": user("@@short:A@@")}, `{"title": "Fake session title"}`},
	} {
		t.Run(name, func(t *testing.T) {
			status, raw := ask(t, srv.URL, c.body)
			var got struct {
				Content []struct{ Text, Name string }
			}
			if err := json.Unmarshal(raw, &got); err != nil || status != 200 {
				t.Fatalf("status %d, %v: %s", status, err, raw)
			}
			var parts []string
			for _, b := range got.Content {
				parts = append(parts, b.Text+b.Name)
			}
			if s := strings.Join(parts, "|"); s != c.want {
				t.Errorf("got %q, want %q", s, c.want)
			}
		})
	}
}

func TestStreamHasTheWholeText(t *testing.T) {
	var log bytes.Buffer
	srv := httptest.NewServer(New(Options{Log: &log}))
	defer srv.Close()
	_, raw := ask(t, srv.URL, object{"stream": true, "messages": user("@@verylong:50@@")})
	var text strings.Builder
	var kinds []string
	sc := bufio.NewScanner(bytes.NewReader(raw))
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type  string
			Delta struct{ Text string }
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, e.Type)
		text.WriteString(e.Delta.Text)
	}
	if n := strings.Count(text.String(), "\n"); n != 50 || !strings.Contains(text.String(), "行50 🎈") {
		t.Errorf("got %d lines: %q", n, text.String())
	}
	if kinds[0] != "message_start" || kinds[len(kinds)-1] != "message_stop" {
		t.Errorf("events begin with %s and end with %s", kinds[0], kinds[len(kinds)-1])
	}
	if !strings.Contains(log.String(), `"scenario":"verylong"`) {
		t.Errorf("log has no scenario: %s", log.String())
	}
}

func TestErrorsAndHold(t *testing.T) {
	s := New(Options{})
	srv := httptest.NewServer(s)
	defer srv.Close()
	if status, raw := ask(t, srv.URL, object{"messages": user("@@err:529@@")}); status != 529 || !bytes.Contains(raw, []byte("overloaded_error")) {
		t.Errorf("got %d %s", status, raw)
	}
	done := make(chan []byte, 1)
	go func() {
		resp, err := http.Post(srv.URL+"/v1/messages", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"@@hold:x@@"}]}`))
		if err != nil {
			done <- nil
			return
		}
		defer resp.Body.Close()
		raw, _ := io.ReadAll(resp.Body)
		done <- raw
	}()
	for end := time.Now().Add(5 * time.Second); len(s.Requests()) < 2; { // the request is in, so its answer is held
		if time.Now().After(end) {
			t.Fatal("the held request never came")
		}
		time.Sleep(time.Millisecond)
	}
	select {
	case raw := <-done:
		t.Fatalf("answered while held: %s", raw)
	default:
	}
	s.Release("x")
	if raw := <-done; !bytes.Contains(raw, []byte("Held answer")) {
		t.Errorf("got %s", raw)
	}
}
