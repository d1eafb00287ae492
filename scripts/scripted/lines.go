package main

import (
	"fmt"
	"time"
)

// The lines of the transcript, as they are in 2.1.332 (recorded 2026-11-30).

// prompt is what a person, or a queue, or the harness gave to the agent.
func (r *records) prompt(id, text, source, origin string) object {
	r.turn++
	return r.chain(object{
		"type": "user", "promptId": id, "message": object{"role": "user", "content": text}, "permissionMode": "default",
		"origin": object{"kind": origin}, "promptSource": source, "turnOrigin": "human",
		"turnPosition": object{"promptIndex": r.turn, "turnIndex": r.turn},
	})
}

// meta is a user line that the harness wrote for the model.
func (r *records) meta(id, text string) object {
	return r.chain(object{
		"type": "user", "promptId": id, "message": object{"role": "user", "content": text}, "isMeta": true,
		"turnCompanion": true, "ownNote": true,
	})
}

// local is a user line of a local command; it goes to no model.
func (r *records) local(text string) object {
	return r.chain(object{"type": "user", "message": object{"role": "user", "content": text}})
}

// interrupted is the line behind an answer that was cut by Esc.
func (r *records) interrupted(id, message string) object {
	return r.chain(object{
		"type": "user", "promptId": id, "rowSource": "harness", "interruptedMessageId": message,
		"message": object{"role": "user", "content": []object{{"type": "text", "text": "[Request interrupted by user]"}}},
	})
}

// assistant is one block of a message; every line of a message carries its final stop reason.
func (r *records) assistant(message string, index int, block object, stop any) object {
	return r.chain(object{
		"type": "assistant", "apiBlockIndex": index, "requestId": "req_fake", "effort": "medium", "madeBy": "model",
		"message": object{
			"id": message, "type": "message", "role": "assistant", "model": "claude-opus-5-5",
			"content": []object{block}, "stop_reason": stop, "stop_sequence": nil, "usage": usage(),
		},
	})
}

// synthetic is an answer that the harness wrote because there was none.
func (r *records) synthetic(text, stop, code string, status int) object {
	o := r.chain(object{
		"type": "assistant", "requestId": "req_fake", "error": code, "isApiErrorMessage": true,
		"message": object{
			"id": uuid(), "type": "message", "role": "assistant", "model": "<synthetic>",
			"content": []object{textBlock(text)}, "stop_reason": stop, "stop_sequence": "", "usage": usage(),
		},
	})
	if status != 0 {
		o["apiErrorStatus"] = status
	}
	return o
}

// result is the result of a tool step.
func (r *records) result(id, tool, text string) object {
	return r.chain(object{
		"type": "user", "promptId": id, "rowSource": "harness", "toolUseResult": text,
		"message": object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": tool, "content": text}}},
	})
}

// system is a line of the harness itself.
func (r *records) system(subtype string, more object) object {
	o := object{"type": "system", "subtype": subtype, "isMeta": false}
	for k, v := range more {
		o[k] = v
	}
	return r.chain(o)
}

// duration ends a turn that went well; background agents may still work.
func (r *records) duration(began time.Time, background int) object {
	more := object{"durationMs": time.Since(began).Milliseconds(), "messageCount": 12}
	if background > 0 {
		more["pendingBackgroundAgentCount"] = background
	}
	return r.system("turn_duration", more)
}

// bookkeeping are the lines that stand around every prompt; the blob carries a role and text that are no answer.
func (r *records) bookkeeping(prompt string) []object {
	return []object{
		r.bare("mode", object{"mode": "normal"}),
		r.bare("permission-mode", object{"permissionMode": "default"}),
		r.bare("file-history-snapshot", object{"messageId": uuid(), "snapshot": object{}, "isSnapshotUpdate": false}),
		r.bare("api-request-blob", object{"hash": uuid(), "message": object{
			"role":    "assistant",
			"content": []object{textBlock("text of a request, not an answer; it was asked: " + prompt)},
		}}),
	}
}

// attachment is a line that a model sees beside the prompt.
func (r *records) attachment(a object) object {
	return r.chain(object{"type": "attachment", "attachment": a, "renderedRole": "system"})
}

func (r *records) queueOperation(op, content string) object {
	o := r.bare("queue-operation", object{"operation": op, "timestamp": stamp()})
	if content != "" {
		o["content"] = content
	}
	return o
}

func usage() object {
	return object{"input_tokens": 10, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
}

func textBlock(s string) object { return object{"type": "text", "text": s} }

func messageID() string { return fmt.Sprintf("msg_scripted_%.12s", uuid()) }
