package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"
)

// claudeLine is the part of a line that matters. Keys are few and lenient: formats move with every release.
type claudeLine struct {
	Type, Subtype, UUID, ParentUUID, LogicalParentUUID string
	Cwd, Timestamp, PromptSource, Operation, Error     string
	IsSidechain, IsMeta, IsCompactSummary              bool
	IsVisibleInTranscriptOnly, IsAPIErrorMessage       bool
	PendingBackgroundAgentCount                        int
	Origin                                             struct{ Kind string }
	Message                                            claudeMessage
	Content                                            json.RawMessage // of a queue-operation
	Attachment                                         struct {
		Type, CommandMode string
		Prompt            json.RawMessage
		Origin            struct{ Kind string }
		IsMeta            bool
	}
	offset int64
	size   int
}

type claudeMessage struct {
	ID         string
	StopReason string `json:"stop_reason"`
	Content    json.RawMessage
}

func (l *claudeLine) above() string {
	if l.ParentUUID != "" {
		return l.ParentUUID
	}
	return l.LogicalParentUUID
}

// decodeClaudeLine is as lenient as it gets: a field of an unexpected type loses only itself.
func decodeClaudeLine(line []byte) (claudeLine, bool) {
	var l claudeLine
	err := json.Unmarshal(line, &l)
	var odd *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &odd) {
		return l, false
	}
	return l, true
}

const (
	shortLine   = 16 << 10 // lines that are as quickly decoded as looked through
	shortString = 1 << 10  // of a tool's result, strings that are kept
)

// withoutResult empties the long strings of a line that holds a tool's result: nothing of it is ever an answer, and it may
// be megabytes (500 MB of results took a minute to decode, and seconds so). The key can't stand inside a string, where its
// quotes would be escaped.
func withoutResult(line []byte) []byte {
	if len(line) <= shortLine || !bytes.Contains(line, []byte(`"type":"tool_result"`)) {
		return line
	}
	var out []byte
	for rest := line; ; {
		begin := bytes.IndexByte(rest, '"')
		if begin < 0 {
			return append(out, rest...)
		}
		end := stringEnd(rest, begin+1)
		if end < 0 {
			return line // broken: for the decoder to say
		}
		out = append(out, rest[:begin+1]...)
		if end-begin <= shortString {
			out = append(out, rest[begin+1:end]...)
		}
		out, rest = append(out, '"'), rest[end+1:]
	}
}

// stringEnd is where the JSON string ends that begins at i, -1 if it does not.
func stringEnd(line []byte, i int) int {
	for {
		next := bytes.IndexByte(line[i:], '"')
		if next < 0 {
			return -1
		}
		end, escapes := i+next, 0
		for line[end-1-escapes] == '\\' { // the quote at the beginning ends the run at the latest
			escapes++
		}
		if escapes%2 == 0 {
			return end
		}
		i = end + 1
	}
}

const taskNotification = "<task-notification>"

// harness reports whether nobody typed this line.
func (l claudeLine) harness() bool { return l.PromptSource == "" && l.Origin.Kind != "human" }

func (l claudeLine) interrupt(head string) bool {
	return l.harness() && strings.HasPrefix(head, "[Request interrupted by user")
}

// notification reports whether the line is a background agent's report.
func (l claudeLine) notification(head string) bool {
	return l.Origin.Kind == "task-notification" ||
		l.Origin.Kind == "" && l.PromptSource != "typed" && strings.HasPrefix(head, taskNotification)
}

// steered is the text of a queued_command attachment that a person, or we, typed: a prompt that was slipped into a running
// turn and has no user line at all.
func (l claudeLine) steered() (string, bool) {
	a := l.Attachment
	if l.Type != "attachment" || a.Type != "queued_command" || a.IsMeta || a.CommandMode == "task-notification" || a.Origin.Kind != "" && a.Origin.Kind != "human" {
		return "", false
	}
	text, _ := claudeText(a.Prompt)
	return text, a.Origin.Kind == "human" || !strings.HasPrefix(strings.TrimSpace(text), taskNotification)
}

func localCommand(head string) bool {
	for _, tag := range []string{"<local-command-", "<command-name>", "<command-message>", "<bash-input>", "<bash-stdout>", "<bash-stderr>"} {
		if strings.HasPrefix(head, tag) {
			return true
		}
	}
	return false
}

// claudeText joins the text of a content, which is a string or blocks, and reports whether a block is a tool's result.
func claudeText(raw json.RawMessage) (text string, toolResult bool) {
	if len(raw) == 0 {
		return "", false
	}
	if json.Unmarshal(raw, &text) == nil {
		return text, false
	}
	var blocks []struct {
		Type string
		Text string
	}
	_ = json.Unmarshal(raw, &blocks) // blocks of odd types keep what could be read
	var parts []string
	for _, b := range blocks {
		toolResult = toolResult || b.Type == "tool_result"
		if b.Type == "text" && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n\n"), toolResult
}

func (l claudeLine) time() time.Time {
	t, err := time.Parse(time.RFC3339, l.Timestamp)
	if err != nil {
		return time.Time{}
	}
	return t
}

// clip cuts at a rune's border.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
