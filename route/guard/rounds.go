package guard

import "github.com/madohub/madohub/record"

// Rounds asks: after max_rounds deliveries a connection is off until it is re-armed. That it is off follows from the count
// alone, so that a round which is given back, or a higher limit, switches it on again by itself.
var Rounds = Gate{"max_rounds", func(f *Facts) Verdict {
	if f.Rule == nil {
		return pass("no connection")
	}
	c, limit := f.Counter(), f.Rule.Guard.MaxRounds
	switch OffBy(c, f.Rule) {
	case record.DisabledByKeyword:
		return no(record.Stopped, record.StopKeyword, `a stop keyword ended the loop of %q; "madohubctl rearm %s" starts it again`, f.Rule.Name, f.Rule.Name)
	case record.DisabledByRounds:
		return no(record.Stopped, record.MaxRounds, `%d of %d rounds are used; "madohubctl rearm %s" starts again, guard.max_rounds (1-20) allows more`,
			c.Round, limit, f.Rule.Name)
	}
	return pass("%d of %d rounds are used", c.Round, limit)
}}

// OffBy is why a connection is off, "" if it is on.
func OffBy(c record.Counter, r *Rule) record.DisabledBy {
	switch {
	case !r.Enabled:
		return record.DisabledByConfig
	case c.DisabledBy != "":
		return c.DisabledBy
	case c.Round >= r.Guard.MaxRounds:
		return record.DisabledByRounds
	}
	return ""
}
