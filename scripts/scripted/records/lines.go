package records

import (
	"fmt"
	"time"
)

// The lines of the transcript, as they are in 2.1.332 (recorded 2026-11-30).

// Prompt is what a person, or a queue, or the harness gave to the agent.
func (r *Records) Prompt(id, text, source, origin string) Object {
	r.Turn++
	return r.chain(Object{
		"type": "user", "promptId": id, "message": Object{"role": "user", "content": text}, "permissionMode": "default",
		"origin": Object{"kind": origin}, "promptSource": source, "turnOrigin": "human",
		"turnPosition": Object{"promptIndex": r.Turn, "turnIndex": r.Turn},
	})
}

// Meta is a user line that the harness wrote for the model.
func (r *Records) Meta(id, text string) Object {
	return r.chain(Object{
		"type": "user", "promptId": id, "message": Object{"role": "user", "content": text}, "isMeta": true,
		"turnCompanion": true, "ownNote": true,
	})
}

// Local is a user line of a local command; it goes to no model.
func (r *Records) Local(text string) Object {
	return r.chain(Object{"type": "user", "message": Object{"role": "user", "content": text}})
}

// Interrupted is the line behind an answer that was cut by Esc.
func (r *Records) Interrupted(id, message string) Object {
	return r.chain(Object{
		"type": "user", "promptId": id, "rowSource": "harness", "interruptedMessageId": message,
		"message": Object{"role": "user", "content": []Object{{"type": "text", "text": "[Request interrupted by user]"}}},
	})
}

// Assistant is one block of a message; every line of a message carries its final stop reason.
func (r *Records) Assistant(message string, index int, block Object, stop any) Object {
	return r.chain(Object{
		"type": "assistant", "apiBlockIndex": index, "requestId": "req_fake", "effort": "medium", "madeBy": "model",
		"message": Object{
			"id": message, "type": "message", "role": "assistant", "model": "claude-opus-5-5",
			"content": []Object{block}, "stop_reason": stop, "stop_sequence": nil, "usage": usage(),
		},
	})
}

// Synthetic is an answer that the harness wrote because there was none.
func (r *Records) Synthetic(text, stop, code string, status int) Object {
	o := r.chain(Object{
		"type": "assistant", "requestId": "req_fake", "error": code, "isApiErrorMessage": true,
		"message": Object{
			"id": UUID(), "type": "message", "role": "assistant", "model": "<synthetic>",
			"content": []Object{TextBlock(text)}, "stop_reason": stop, "stop_sequence": "", "usage": usage(),
		},
	})
	if status != 0 {
		o["apiErrorStatus"] = status
	}
	return o
}

// Result is the result of a tool step.
func (r *Records) Result(id, tool, text string) Object {
	return r.chain(Object{
		"type": "user", "promptId": id, "rowSource": "harness", "toolUseResult": text,
		"message": Object{"role": "user", "content": []Object{{"type": "tool_result", "tool_use_id": tool, "content": text}}},
	})
}

// System is a line of the harness itself.
func (r *Records) System(subtype string, more Object) Object {
	o := Object{"type": "system", "subtype": subtype, "isMeta": false}
	for k, v := range more {
		o[k] = v
	}
	return r.chain(o)
}

// Duration ends a turn that went well; background agents may still work.
func (r *Records) Duration(began time.Time, background int) Object {
	more := Object{"durationMs": time.Since(began).Milliseconds(), "messageCount": 12}
	if background > 0 {
		more["pendingBackgroundAgentCount"] = background
	}
	return r.System("turn_duration", more)
}

// Bookkeeping are the lines that stand around every prompt; the blob carries a role and text that are no answer.
func (r *Records) Bookkeeping(prompt string) []Object {
	return []Object{
		r.Bare("mode", Object{"mode": "normal"}),
		r.Bare("permission-mode", Object{"permissionMode": "default"}),
		r.Bare("file-history-snapshot", Object{"messageId": UUID(), "snapshot": Object{}, "isSnapshotUpdate": false}),
		r.Bare("api-request-blob", Object{"hash": UUID(), "message": Object{
			"role":    "assistant",
			"content": []Object{TextBlock("text of a request, not an answer; it was asked: " + prompt)},
		}}),
	}
}

// Attachment is a line that a model sees beside the prompt.
func (r *Records) Attachment(a Object) Object {
	return r.chain(Object{"type": "attachment", "attachment": a, "renderedRole": "system"})
}

// QueueOperation is a line about a prompt that came while the agent worked.
func (r *Records) QueueOperation(op, content string) Object {
	o := r.Bare("queue-operation", Object{"operation": op, "timestamp": Stamp()})
	if content != "" {
		o["content"] = content
	}
	return o
}

func usage() Object {
	return Object{"input_tokens": 10, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
}

// TextBlock is a block of text of a message.
func TextBlock(s string) Object { return Object{"type": "text", "text": s} }

// MessageID makes the identifier of an assistant message.
func MessageID() string { return fmt.Sprintf("msg_scripted_%.12s", UUID()) }
