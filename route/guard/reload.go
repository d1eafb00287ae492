package guard

import "github.com/madohub/madohub/record"

// Standing asks: a queued text is typed only while the rule that made it still stands.
var Standing = Gate{"rule", func(f *Facts) Verdict {
	toAgent := f.Agents[f.Record.To]
	switch {
	case toAgent == nil:
		return no(record.Cancelled, record.Reload, "agent %q is no longer configured", f.Record.To)
	case f.Record.Connection == "":
		return pass("sent by hand")
	case f.Rule == nil:
		return no(record.Cancelled, record.Reload, "connection %q is no longer configured", f.Record.Connection)
	case !f.Rule.Enabled:
		return no(record.Cancelled, record.Reload, "connection %q was switched off in the configuration", f.Record.Connection)
	case f.Rule.From != f.Record.From || f.Rule.To != f.Record.To:
		return no(record.Cancelled, record.Reload, "connection %q now leads from %q to %q", f.Rule.Name, f.Rule.From, f.Rule.To)
	}
	return pass("still configured")
}}
