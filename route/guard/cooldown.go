package guard

import (
	"time"

	"github.com/madohub/madohub/record"
)

// Cooldown asks: the least time between two deliveries of a connection.
var Cooldown = Gate{"cooldown", func(f *Facts) Verdict {
	if f.Rule == nil {
		return pass("none")
	}
	if until := CoolUntil(f.Pace, f.Counter(), f.Rule, f.Now); until.After(f.Now) {
		v := no(record.Held, record.Cooldown, "connection %q delivered less than %s ago", f.Rule.Name, f.Rule.Guard.Cooldown)
		v.Retry = until
		return v
	}
	return pass("over")
}}

// CoolUntil is when the cooldown of the rule ends, zero if it never delivered.
func CoolUntil(p *Pace, c record.Counter, r *Rule, now time.Time) time.Time {
	last := p.Last(c, now)
	if last.IsZero() {
		return last
	}
	return last.Add(r.Guard.Cooldown)
}

// Spacing asks: two connections must not hit one target at the same moment. Texts that are sent by hand are spaced by those
// who deliver, who know when they last typed into a pane.
var Spacing = Gate{"target_spacing", func(f *Facts) Verdict {
	spacing := f.Limits.TargetSpacing
	var last time.Time
	for name, c := range f.Rules {
		if c.To == f.Record.To && name != f.Record.Connection {
			if at := f.Pace.Last(f.Counters[name], f.Now); at.After(last) {
				last = at
			}
		}
	}
	if until := last.Add(spacing); !last.IsZero() && until.After(f.Now) {
		v := no(record.Held, record.TargetSpacing, "%q got another text less than %s ago (limits.target_spacing)", f.Record.To, spacing)
		v.Retry = until
		return v
	}
	return pass("nothing reached %q in the last %s", f.Record.To, spacing)
}}
