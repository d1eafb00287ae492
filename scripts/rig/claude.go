package rig

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Home is the .claude folder that agents of the rig write to.
type Home string

// Session is the session file of one process.
type Session struct {
	PID       int    `json:"pid"`
	SessionID string `json:"sessionId"`
	Cwd       string `json:"cwd"`
	Status    string `json:"status"`
	Waiting   string `json:"waitingFor"`
	Changed   int64  `json:"statusUpdatedAt"`
}

// Idle reports whether the session has been idle for a while: between a turn and a queued prompt it is for a moment.
func (s Session) Idle() bool {
	return s.Status == "idle" && time.Since(time.UnixMilli(s.Changed)) > 300*time.Millisecond
}

// Session is the newest session file of a living process in a directory. An error is fs.ErrNotExist while there is none.
func (h Home) Session(cwd string) (Session, error) {
	files, err := filepath.Glob(filepath.Join(string(h), "sessions", "[0-9]*.json"))
	if err != nil {
		return Session{}, err
	}
	best := Session{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		var s Session
		if err != nil || json.Unmarshal(raw, &s) != nil || s.Cwd != cwd || s.PID <= best.PID {
			continue
		}
		if syscall.Kill(s.PID, 0) == nil {
			best = s
		}
	}
	if best.PID == 0 {
		return best, fmt.Errorf("session file of %s: %w", cwd, fs.ErrNotExist)
	}
	return best, nil
}

// WaitIdle waits until the agent of a directory is idle by its own session file.
func (h Home) WaitIdle(ctx context.Context, cwd string) error {
	return Wait(ctx, "the agent in "+filepath.Base(cwd)+" is idle", func() (bool, error) {
		s, err := h.Session(cwd)
		return s.Idle(), err
	})
}

// Line is a line of a transcript, as far as prompts and answers go.
type Line struct {
	Type       string          `json:"type"`
	Subtype    string          `json:"subtype"`
	Time       time.Time       `json:"timestamp"`
	UUID       string          `json:"uuid"`
	PromptID   string          `json:"promptId"`
	Source     string          `json:"promptSource"`
	Meta       bool            `json:"isMeta"`
	Sidechain  bool            `json:"isSidechain"`
	APIError   bool            `json:"isApiErrorMessage"`
	Operation  string          `json:"operation"`
	Content    json.RawMessage `json:"content"`
	Attachment struct {
		Type   string          `json:"type"`
		Prompt json.RawMessage `json:"prompt"`
	} `json:"attachment"`
	Message struct {
		ID      string          `json:"id"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// text joins the text blocks of a content field.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []struct{ Type, Text string }
	if json.Unmarshal(raw, &blocks) != nil {
		return ""
	}
	var parts []string
	for _, b := range blocks {
		if b.Type == "text" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// Transcript reads all transcripts of a directory, oldest session first.
func (h Home) Transcript(cwd string) ([]Line, error) {
	files, err := filepath.Glob(filepath.Join(string(h), "projects", encode(cwd), "*.jsonl"))
	if err != nil {
		return nil, err
	}
	var lines []Line
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("read transcript: %w", err)
		}
		r := bufio.NewReader(bytes.NewReader(raw))
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				break // a line without its end is not written yet
			}
			var l Line
			if json.Unmarshal(line, &l) == nil {
				lines = append(lines, l)
			}
		}
	}
	return lines, nil
}

var notAscii = regexp.MustCompile(`[^A-Za-z0-9]`)

// encode names the project folder of a directory; the rig's own directories are plain ASCII.
func encode(dir string) string { return notAscii.ReplaceAllString(dir, "-") }

// Prompts are the prompts that the agent of a directory took from its input, in order, exactly as it recorded them.
func (h Home) Prompts(cwd string) ([]string, error) {
	lines, err := h.Transcript(cwd)
	var out []string
	for _, l := range lines {
		switch {
		case l.Type == "attachment" && l.Attachment.Type == "queued_command":
			out = append(out, text(l.Attachment.Prompt))
		case l.Type == "user" && !l.Meta && !l.Sidechain && (l.Source == "typed" || l.Source == "queued"):
			out = append(out, text(l.Message.Content))
		}
	}
	return out, err
}

// WaitPrompts waits until the agent of a directory took n prompts, and returns them.
func (h Home) WaitPrompts(ctx context.Context, cwd string, n int) ([]string, error) {
	var got []string
	err := Wait(ctx, fmt.Sprintf("the agent in %s took %d prompts", filepath.Base(cwd), n), func() (bool, error) {
		var err error
		got, err = h.Prompts(cwd)
		return len(got) >= n, err
	})
	if err != nil {
		err = errors.Join(err, fmt.Errorf("it took %q", got))
	}
	return got, err
}

// WaitTurn waits until the agent of a directory is idle again after a prompt and its transcript says so too.
func (h Home) WaitTurn(ctx context.Context, cwd string, prompts int) error {
	if _, err := h.WaitPrompts(ctx, cwd, prompts); err != nil {
		return err
	}
	return h.WaitIdle(ctx, cwd)
}

// TurnEnd is when the last turn of a transcript ended by its own mark, zero if none did.
func TurnEnd(lines []Line) time.Time {
	var end time.Time
	for _, l := range lines {
		if l.Type == "system" && l.Subtype == "turn_duration" {
			end = l.Time
		}
	}
	return end
}
