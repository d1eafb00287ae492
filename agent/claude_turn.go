package agent

import (
	"strings"

	"github.com/madohub/madohub/record"
)

const cutNote = "\n\n[cut here by MadoHub: the answer is longer than 4 MiB]"

// claudeTurn is a turn in the making.
type claudeTurn struct {
	Turn
	loose   bool   // its prompt came before the line it hangs on
	local   bool   // a local command so far: it becomes a turn only if the model answers it
	message string // message.id of the present answer
	answer  strings.Builder
	cut     bool
	stop    string // stop_reason of the newest message
}

func newClaudeTurn(l claudeLine, prompt string, human bool) *claudeTurn {
	inner, _ := Unframe(prompt)
	return &claudeTurn{Turn: Turn{ID: l.UUID, Prompt: clip(inner, maxPrompt), Human: human, Started: l.time()}}
}

// assistant takes the text blocks. Every line carries the whole message's stop_reason, also one that holds only a thought,
// so stop_reason never ends a turn.
func (t *claudeTurn) assistant(l claudeLine) {
	if t.Ended {
		return
	}
	text, _ := claudeText(l.Message.Content)
	if l.IsAPIErrorMessage {
		t.finish(l, claudeFailure(l, text, t.stop), text)
		return
	}
	if t.stop = l.Message.StopReason; t.stop == "" {
		t.stop = "none"
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	if l.Message.ID == "" || l.Message.ID != t.message {
		t.message, t.cut = l.Message.ID, false
		t.answer.Reset()
	}
	t.add(text)
}

// add appends a block, after a blank line, up to the bound.
func (t *claudeTurn) add(text string) {
	if t.cut {
		return
	}
	if t.answer.Len() > 0 {
		text = "\n\n" + text
	}
	if room := maxAnswer - t.answer.Len(); len(text) > room {
		text, t.cut = clip(text, room)+cutNote, true
	}
	t.answer.WriteString(text)
}

// system ends turns. turn_duration is the last line of a successful turn (2.1.197 writes it after failures too); with
// background agents at work it is not the end.
func (t *claudeTurn) system(l claudeLine) {
	if t.Ended || l.Subtype != "turn_duration" {
		return
	}
	if t.Background = max(0, l.PendingBackgroundAgentCount); t.Background > 0 {
		return
	}
	switch {
	case t.stop == "max_tokens" || t.stop == "model_context_window_exceeded":
		t.finish(l, record.Truncated, "the answer was cut off: "+t.stop)
	case t.stop == "refusal":
		t.finish(l, record.Refusal, "the model refused")
	case t.answer.Len() == 0:
		t.finish(l, record.NoAnswer, "the turn ended without text")
	default:
		t.finish(l, "", "")
	}
}

func (t *claudeTurn) finish(l claudeLine, why record.Reason, detail string) {
	if t.Ended {
		return
	}
	t.Ended, t.End, t.EndOffset, t.Background = true, l.time(), l.offset, 0
	t.Failure, t.Detail = why, clip(detail, maxDetail)
}

// claudeFailure sorts API errors.
func claudeFailure(l claudeLine, text, stop string) record.Reason {
	switch {
	case l.Message.StopReason == "refusal":
		return record.Refusal
	case stop == "max_tokens" || l.Error == "max_output_tokens":
		return record.Truncated
	case limitWords.MatchString(text):
		return record.UsageLimit
	}
	return record.APIError
}

func (t *claudeTurn) snapshot() Turn {
	s := t.Turn
	s.Steered = append([]string(nil), t.Steered...)
	if s.Failure == "" {
		s.Answer = t.answer.String()
	}
	return s
}
