package guard

import "github.com/madohub/madohub/record"

// Paused asks: what a person or the configuration switched off forwards nothing.
var Paused = Gate{"paused", func(f *Facts) Verdict {
	switch {
	case f.Rule == nil:
		return pass("no connection")
	case !f.Rule.Enabled:
		return no(record.Blocked, record.Paused, "connection %q has enabled: false in the configuration", f.Rule.Name)
	case f.Counter().DisabledBy == record.DisabledByUser:
		return no(record.Blocked, record.Paused, `connection %q is paused; "madohubctl resume %s" switches it on`, f.Rule.Name, f.Rule.Name)
	}
	return pass("switched on")
}}
