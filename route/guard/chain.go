package guard

import (
	"slices"
	"strings"

	"github.com/madohub/madohub/record"
)

// Self asks: an agent never messages itself, nor its own pane under another name.
var Self = Gate{"self", func(f *Facts) Verdict {
	switch {
	case f.Record.From == "":
		return pass("sent by a person")
	case f.Record.From == f.Record.To:
		return no(record.Blocked, record.Self, "agent %q can't message itself", f.Record.To)
	case f.From.Pane != "" && f.From.Pane == f.To.Pane:
		return no(record.Blocked, record.Self, "%q and %q are two names of one pane", f.Record.From, f.Record.To)
	}
	return pass("%q and %q are two panes", f.Record.From, f.Record.To)
}}

// Allowed asks: an agent reaches on its own only those whom its can_message names. A connection was drawn by the user and
// needs no other leave.
var Allowed = Gate{"can_message", func(f *Facts) Verdict {
	if f.Rule != nil || f.Record.From == "" {
		return pass("asked by the user")
	}
	from, ok := f.Agents[f.Record.From]
	if ok && slices.Contains(from.CanMessage, f.Record.To) {
		return pass("%q may message %q", f.Record.From, f.Record.To)
	}
	return no(record.Blocked, record.NotAllowed, "%q may not message %q: the user can allow it by adding it to can_message of %q in the configuration",
		f.Record.From, f.Record.To, f.Record.From)
}}

// Hops bounds what agents set off by themselves. Rules are bounded by their rounds, so that a peer review can go
// max_rounds rounds; but every hop through a rule counts when an agent then sends.
var Hops = Gate{"max_hops", func(f *Facts) Verdict {
	limit, n := f.Limits.MaxHops, len(f.Record.Hops)
	if f.Rule != nil || f.Record.From == "" || limit == 0 || n <= limit {
		return pass("hop %d", n)
	}
	return no(record.Blocked, record.Hops, "this is hop %d of a chain (%s → %s); limits.max_hops allows %d, and a prompt by a person starts a new chain",
		n, strings.Join(f.Record.Hops, " → "), f.Record.To, limit)
}}
