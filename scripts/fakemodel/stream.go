package fakemodel

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// chunkSize is how many characters one event of a stream carries.
const chunkSize = 40

func (p *plan) blocks() []object {
	var out []object
	if p.thinking != "" {
		out = append(out, object{"type": "thinking", "thinking": p.thinking, "signature": "c2ln"})
	}
	for _, t := range p.texts {
		out = append(out, object{"type": "text", "text": t})
	}
	if p.tool != "" {
		out = append(out, object{"type": "tool_use", "id": "toolu_" + p.id, "name": p.tool, "input": p.input})
	}
	return out
}

func (p *plan) stopReason() string {
	switch {
	case p.stop != "":
		return p.stop
	case p.tool != "":
		return "tool_use"
	}
	return "end_turn"
}

func usage() object {
	return object{"input_tokens": 10, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
}

func (p *plan) message(model string) object {
	return object{
		"id": p.id, "type": "message", "role": "assistant", "model": model, "content": p.blocks(),
		"stop_reason": p.stopReason(), "stop_sequence": nil, "usage": usage(),
	}
}

// stream writes the answer as server-sent events; it ends early when the client is gone.
func (p *plan) stream(ctx context.Context, w http.ResponseWriter, model string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	e := events{w: w, flush: http.NewResponseController(w)}
	start := p.message(model)
	start["content"], start["stop_reason"] = []object{}, nil
	e.send("message_start", object{"message": start})
	for i, b := range p.blocks() {
		p.streamBlock(ctx, &e, i, b)
	}
	e.send("message_delta", object{"delta": object{"stop_reason": p.stopReason(), "stop_sequence": nil}, "usage": usage()})
	e.send("message_stop", object{})
}

func (p *plan) streamBlock(ctx context.Context, e *events, i int, b object) {
	delta := func(d object) { e.send("content_block_delta", object{"index": i, "delta": d}) }
	switch b["type"] {
	case "text":
		e.send("content_block_start", object{"index": i, "content_block": object{"type": "text", "text": ""}})
		for _, c := range chunks(b["text"].(string)) {
			delta(object{"type": "text_delta", "text": c})
			if p.pause > 0 && !sleep(ctx, p.pause) {
				return
			}
		}
	case "thinking":
		e.send("content_block_start", object{"index": i, "content_block": object{"type": "thinking", "thinking": "", "signature": ""}})
		delta(object{"type": "thinking_delta", "thinking": p.thinking})
		delta(object{"type": "signature_delta", "signature": "c2ln"})
	default:
		e.send("content_block_start", object{"index": i, "content_block": object{"type": "tool_use", "id": b["id"], "name": b["name"], "input": object{}}})
		raw, err := json.Marshal(b["input"])
		if err != nil {
			panic(err) // inputs are literals of this package
		}
		delta(object{"type": "input_json_delta", "partial_json": string(raw)})
	}
	e.send("content_block_stop", object{"index": i})
}

func chunks(s string) []string {
	r := []rune(s)
	out := []string{}
	for len(r) > chunkSize {
		out, r = append(out, string(r[:chunkSize])), r[chunkSize:]
	}
	return append(out, string(r))
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

type events struct {
	w     http.ResponseWriter
	flush *http.ResponseController
}

func (e *events) send(kind string, data object) {
	data["type"] = kind
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err) // maps of plain values always marshal
	}
	fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", kind, raw)
	_ = e.flush.Flush() // a client that is gone is seen by the context
}
