package guard

import "github.com/madohub/madohub/record"

// Queue asks: a target's queue has an end.
var Queue = Gate{"queue", func(f *Facts) Verdict {
	n, depth := f.QueueLen, f.Limits.QueueDepth
	if f.Replaces != "" {
		n-- // the newer answer takes the place of the held one
	}
	if depth > 0 && n >= depth {
		return no(record.Blocked, record.QueueFull, `%d texts wait for %q, limits.queue_depth is %d; "madohubctl queue" shows why they wait`, n, f.Record.To, depth)
	}
	return pass("%d of %d wait for %q", n, depth, f.Record.To)
}}
