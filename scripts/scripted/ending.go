package main

import (
	"fmt"
	"time"

	"github.com/madohub/madohub/scripts/scripted/records"
)

// ending is how the turn looks at its end: finished lines of the screen, lines of the transcript (made when they are
// written, so that the chain stays whole), and the suggestion in the empty box.
func (t *turn) ending() (screen []string, lines func() []records.Object, ghost string) {
	r := t.a.rec
	switch t.reply.Failure {
	case "api_error":
		text := "API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment."
		return t.a.hang("● ", text), func() []records.Object {
			return []records.Object{r.Synthetic(text, "stop_sequence", "server_error", 529)}
		}, "Resend your message to try again"
	case "interrupt":
		return []string{"● word0 word1", "  ⎿  Interrupted · What should Claude do instead?", ""}, t.aborted, ""
	case "empty":
		return t.cooked(), func() []records.Object {
			return []records.Object{
				r.Meta(t.id, "[Your previous response had no visible output. Please continue and produce a user-visible response.]"),
				r.Duration(t.began, 0),
			}
		}, ""
	case "refusal":
		return t.a.hang("● ", "API Error: safeguards flagged this message."), t.refused, ""
	case "truncated":
		return t.a.hang("● ", "Cut off mid sent"), t.truncated, ""
	}
	return append(t.a.hang("● ", t.reply.text()), t.cooked()...), t.answered, ""
}

// answered is the end of a turn that went well: every line of the message carries its final stop reason.
func (t *turn) answered() []records.Object {
	r := t.a.rec
	var lines []records.Object
	if t.reply.Thinking {
		lines = append(lines, r.Assistant(t.message, 0, records.Object{"type": "thinking", "thinking": "Let me think.", "signature": "c2ln"}, "end_turn"))
	}
	for i, b := range t.reply.blocks {
		lines = append(lines, r.Assistant(t.message, i, records.TextBlock(b), "end_turn"))
	}
	lines = append(lines, r.Duration(t.began, 0))
	return append(lines, r.Bare("last-prompt", records.Object{"lastPrompt": t.prompt, "leafUuid": r.Parent}))
}

func (t *turn) refused() []records.Object {
	r := t.a.rec
	return []records.Object{
		r.System("informational", records.Object{"content": "safeguards stopped the response above · continuing once with that noted", "level": "notice"}),
		r.Meta(t.id, "Your response above was stopped by a safety classifier — this is not a tool or API error."),
		r.System("model_refusal_no_fallback", records.Object{"content": "", "level": "warning", "originalModel": "claude-opus-5-5"}),
		r.Synthetic("API Error: Opus 5.5's safeguards flagged this message.", "refusal", "invalid_request", 0),
	}
}

func (t *turn) truncated() []records.Object {
	r := t.a.rec
	lines := []records.Object{r.Assistant(t.message, 0, records.TextBlock("Cut off mid sent"), "max_tokens")}
	for range 3 {
		lines = append(lines, r.Meta(t.id, "Output token limit hit. Resume directly — no apology, no recap of what you were doing."),
			r.Assistant(records.MessageID(), 0, records.TextBlock("Cut off mid sent"), "max_tokens"))
	}
	return append(lines, r.Synthetic("API Error: Claude's response exceeded the output token maximum.", "stop_sequence", "max_output_tokens", 0))
}

func (t *turn) cooked() []string {
	return []string{fmt.Sprintf("✻ Cooked for %ds · done %s", int(time.Since(t.began).Seconds()), time.Now().Format("3:04 PM")), ""}
}
