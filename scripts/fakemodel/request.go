package fakemodel

import (
	"encoding/json"
	"slices"
	"strings"
)

// apiRequest is the part of a Messages request that answers depend on.
type apiRequest struct {
	Model    string          `json:"model"`
	Stream   bool            `json:"stream"`
	System   json.RawMessage `json:"system"`
	Output   json.RawMessage `json:"output_config"`
	Messages []apiMessage    `json:"messages"`
	Tools    []struct {
		Name string `json:"name"`
	} `json:"tools"`
}

type apiMessage struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is a string or a list of blocks.
type content []apiBlock

type apiBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*c = content{{Type: "text", Text: s}}
		return nil
	}
	return json.Unmarshal(raw, (*[]apiBlock)(c))
}

func (r *apiRequest) toolNames() []string {
	var out []string
	for _, t := range r.Tools {
		out = append(out, t.Name)
	}
	return out
}

// prompts are the texts of the user's messages, oldest first, without what the harness adds.
func (r *apiRequest) prompts() []string {
	var out []string
	for _, m := range r.Messages {
		if m.Role != "user" && m.Role != "system" {
			continue
		}
		for _, b := range m.Content {
			text := strings.TrimSpace(b.Text)
			notification := strings.HasPrefix(text, "<task-notification>")
			switch {
			case b.Type != "text" || text == "":
			case m.Role == "system" && !notification:
			case strings.HasPrefix(text, "<") && !notification && !strings.HasPrefix(text, "<pasted_content"):
			default:
				out = append(out, b.Text)
			}
		}
	}
	return out
}

// toolDone reports whether the newest user message brings the result of a tool.
func (r *apiRequest) toolDone() bool {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "user" {
			return slices.ContainsFunc(m.Content, func(b apiBlock) bool { return b.Type == "tool_result" })
		}
	}
	return false
}

// delegated reports whether an assistant message already used a tool in this conversation.
func (r *apiRequest) delegated() bool {
	for _, m := range r.Messages {
		if m.Role == "assistant" && slices.ContainsFunc(m.Content, func(b apiBlock) bool { return b.Type == "tool_use" }) {
			return true
		}
	}
	return false
}

// wantsTitle reports whether this is the side request for a session's title.
func (r *apiRequest) wantsTitle() bool {
	return len(r.Tools) == 0 && (strings.Contains(strings.ToLower(string(r.System)), "title") || strings.Contains(string(r.Output), "title"))
}
