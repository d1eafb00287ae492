package agent

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/madohub/madohub/record"
)

// Bounds of what a fold keeps, whatever the transcript holds.
const (
	maxLine    = 64 << 20 // longer lines are skipped; the longest seen had 203 KB
	maxAnswer  = 4 << 20
	maxPrompt  = 1 << 20
	maxDetail  = 300
	maxPrompts = 256
	maxKept    = 8 << 20 // bytes of all kept prompts
	maxTurns   = 4
	maxUUIDs   = 4096
	maxSteered = 16
	maxOrphans = 256
)

// claudeFold follows a transcript of Claude Code. A transcript is a tree: every line names its parent. A turn is a prompt
// and what descends from it, so that in a file that two panes write to neither gets the other's answer. Lines may come
// before their parents (2.1.197 flushes the first turn so): they wait for them, and are never guessed to belong.
type claudeFold struct {
	cwd     string
	turns   []*claudeTurn
	prompts []Prompt
	kept    int                    // bytes of prompts
	owner   map[string]*claudeTurn // uuid → turn; nil: before any prompt
	order   []string               // the uuids of owner, a ring
	next    int
	orphans []*claudeLine
	waiting int // bytes of orphans
}

func newClaudeFold() *claudeFold { return &claudeFold{owner: make(map[string]*claudeTurn)} }

// Line takes one line. Lines without a uuid, but for queue operations, say nothing of turns; they are most of the file.
func (f *claudeFold) Line(line []byte, offset int64) {
	if len(line) > maxLine || !bytes.Contains(line, []byte(`"uuid"`)) && !bytes.Contains(line, []byte(`"queue-operation"`)) {
		return
	}
	size := len(line)
	l, ok := decodeClaudeLine(withoutResult(line))
	if !ok || l.IsSidechain {
		return
	}
	l.offset, l.size = offset, size
	if f.cwd == "" && len(l.Cwd) <= 4096 {
		f.cwd = l.Cwd
	}
	if l.Type == "queue-operation" {
		f.queue(l)
		return
	}
	if l.UUID == "" || len(l.UUID) > 128 {
		return
	}
	if text, human := l.steered(); human {
		f.took(Prompt{ID: l.UUID, Text: text, Time: l.time(), Offset: offset})
	}
	f.dispatch(l)
}

// dispatch gives a line to its turn, and then the lines that waited for it theirs. Their end counts from here on.
func (f *claudeFold) dispatch(l claudeLine) {
	if _, seen := f.owner[l.UUID]; seen {
		return
	}
	parent, known := f.parent(l)
	t, placed := f.open(l, parent, known)
	switch {
	case placed:
	case !known:
		f.wait(l)
		return
	default:
		t = f.member(l, parent)
	}
	f.own(l.UUID, t)
	for _, o := range f.release(l.UUID) {
		o.offset = max(o.offset, l.offset)
		f.dispatch(*o)
	}
}

// parent is the turn of the line's parent; for a compact_boundary of what it continues.
func (f *claudeFold) parent(l claudeLine) (t *claudeTurn, known bool) {
	id := l.above()
	if id == "" {
		return nil, true
	}
	t, known = f.owner[id]
	return t, known
}

// wait keeps a line whose parent has not come, the newest ones if there are too many.
func (f *claudeFold) wait(l claudeLine) {
	f.orphans = append(f.orphans, &l)
	f.waiting += l.size
	for len(f.orphans) > maxOrphans || f.waiting > maxKept && len(f.orphans) > 0 {
		f.waiting -= f.orphans[0].size
		f.orphans = f.orphans[1:]
	}
}

// release takes out the lines that waited for this one.
func (f *claudeFold) release(uuid string) []*claudeLine {
	var out []*claudeLine
	f.orphans = slices.DeleteFunc(f.orphans, func(o *claudeLine) bool {
		mine := o.above() == uuid
		if mine {
			f.waiting -= o.size
			out = append(out, o)
		}
		return mine
	})
	return out
}

func (f *claudeFold) own(uuid string, t *claudeTurn) {
	if len(f.order) < maxUUIDs {
		f.order = append(f.order, uuid)
	} else {
		delete(f.owner, f.order[f.next])
		f.order[f.next] = uuid
		f.next = (f.next + 1) % maxUUIDs
	}
	f.owner[uuid] = t
}

// open begins a turn if the line is a prompt, wherever it hangs in the tree. It sorts the many things that the harness
// writes in the user's name.
func (f *claudeFold) open(l claudeLine, parent *claudeTurn, known bool) (*claudeTurn, bool) {
	switch l.Type {
	case "user":
		return f.openUser(l, parent, known)
	case "attachment":
		text, human := l.steered()
		if !human || !known || parent != nil && !parent.Ended && !parent.local {
			return nil, false
		}
		return f.begin(newClaudeTurn(l, text, true)), true
	}
	return nil, false
}

func (f *claudeFold) openUser(l claudeLine, parent *claudeTurn, known bool) (*claudeTurn, bool) {
	text, toolResult := claudeText(l.Message.Content)
	head := strings.TrimLeft(text, " \n")
	working := parent != nil && !parent.Ended && parent.stop != ""
	switch {
	case toolResult || l.IsMeta || l.IsCompactSummary || l.IsVisibleInTranscriptOnly || l.interrupt(head):
		return nil, false
	case l.notification(head):
		if !known || parent != nil && !parent.Ended {
			return nil, false // it goes on with the turn that waits for it
		}
		return f.begin(newClaudeTurn(l, text, false)), true
	case l.PromptSource == "" && localCommand(head): // 2.1.332 gives commands an origin, but no source
		if working {
			return nil, false
		}
		if strings.HasPrefix(head, "<bash-std") && parent != nil && parent.local {
			text = parent.Prompt // the command stands in the line before
		}
		t := newClaudeTurn(l, text, true)
		t.local = true
		return t, true
	}
	human := l.PromptSource != "system"
	if l.Origin.Kind != "" {
		human = l.Origin.Kind == "human"
	}
	if human {
		f.took(Prompt{ID: l.UUID, Text: text, Time: l.time(), Offset: l.offset})
	}
	t := newClaudeTurn(l, text, human)
	t.loose = !known
	return f.begin(t), true
}

// begin adds a turn. A prompt whose line comes after those of a younger one that descends from it (seen in 2.1.197) is put
// before it, so that the newest turn stays the newest.
func (f *claudeFold) begin(t *claudeTurn) *claudeTurn {
	t.local = false
	i := len(f.turns)
	for i > 0 && f.turns[i-1].loose && t.Started.Before(f.turns[i-1].Started) {
		i--
	}
	f.turns = slices.Insert(f.turns, i, t)
	if len(f.turns) > maxTurns {
		f.turns = slices.Delete(f.turns, 0, 1)
	}
	return t
}

// member lets a line act on the turn that it belongs to.
func (f *claudeFold) member(l claudeLine, t *claudeTurn) *claudeTurn {
	if t == nil {
		return nil
	}
	switch l.Type {
	case "assistant":
		if t.local && !t.Ended {
			f.begin(t)
		}
		t.assistant(l)
	case "system":
		t.system(l)
	case "user":
		text, _ := claudeText(l.Message.Content)
		if head := strings.TrimSpace(text); l.interrupt(head) {
			t.finish(l, record.Interrupted, head)
		} else if l.notification(head) {
			t.message, t.stop = "", "notified"
		}
	case "attachment":
		if _, human := l.steered(); human && !t.Ended && len(t.Steered) < maxSteered {
			t.Human = true
			t.Steered = append(t.Steered, l.UUID)
		}
	}
	return t
}

// took remembers a prompt. A prompt that was queued before is replaced.
func (f *claudeFold) took(p Prompt) {
	if slices.ContainsFunc(f.prompts, func(q Prompt) bool { return q.ID == p.ID }) {
		return
	}
	inner, _ := Unframe(p.Text)
	p.Text = clip(inner, maxPrompt)
	if !p.Queued {
		f.unqueue(p.Text)
	}
	f.prompts = append(f.prompts, p)
	f.kept += len(p.Text)
	for len(f.prompts) > maxPrompts || f.kept > maxKept && len(f.prompts) > 1 {
		f.kept -= len(f.prompts[0].Text)
		f.prompts = f.prompts[1:]
	}
}

// unqueue forgets the oldest queued prompt with this text.
func (f *claudeFold) unqueue(text string) {
	for i, p := range f.prompts {
		if p.Queued && SameText(p.Text, text) {
			f.kept -= len(p.Text)
			f.prompts = append(f.prompts[:i:i], f.prompts[i+1:]...)
			return
		}
	}
}

// queue reads Claude's own queue. enqueue carries the text, mostly; a prompt follows every dequeue, and an attachment the
// removes that slip one into a running turn. popAll is the user taking the queue back into the input box.
func (f *claudeFold) queue(l claudeLine) {
	text, _ := claudeText(l.Content)
	if l.Operation == "enqueue" && (strings.TrimSpace(text) == "" || strings.HasPrefix(strings.TrimSpace(text), taskNotification)) {
		return
	}
	switch l.Operation {
	case "enqueue":
		f.took(Prompt{ID: fmt.Sprintf("queue-%d", l.offset), Text: text, Queued: true, Time: l.time(), Offset: l.offset})
	case "remove":
		inner, _ := Unframe(text)
		f.unqueue(inner)
	case "popAll":
		kept := f.prompts[:0:0]
		for _, p := range f.prompts {
			if p.Queued {
				f.kept -= len(p.Text)
				continue
			}
			kept = append(kept, p)
		}
		f.prompts = kept
	}
}

// Rooted reports whether the prompt of the newest turn was seen; turns are only ever opened by their prompt.
func (f *claudeFold) Rooted() bool { return len(f.turns) > 0 }

// Last is the turn with the newest prompt.
func (f *claudeFold) Last() (Turn, bool) {
	if len(f.turns) == 0 {
		return Turn{}, false
	}
	return f.turns[len(f.turns)-1].snapshot(), true
}

// Turns are the newest turns by the order of their prompts.
func (f *claudeFold) Turns() []Turn {
	turns := make([]Turn, 0, len(f.turns))
	for _, t := range f.turns {
		turns = append(turns, t.snapshot())
	}
	return turns
}

// Prompts are the newest prompts that the agent took or queued.
func (f *claudeFold) Prompts() []Prompt { return append([]Prompt(nil), f.prompts...) }

// Cwd is the first directory that the lines name: the one in which the session was started, if all lines were fed.
func (f *claudeFold) Cwd() string { return f.cwd }
