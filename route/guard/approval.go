package guard

import (
	"cmp"

	"github.com/madohub/madohub/record"
)

// Approval asks: with `confirm: true`, or named in `approve:`, a person looks at each text first.
var Approval = Gate{"approval", func(f *Facts) Verdict {
	needed := f.Rule != nil && f.Rule.Approve
	if f.Item != nil {
		needed = f.Item.Approval
	}
	if needed {
		return no(record.Held, record.NeedsApproval, `a person must approve it: "madohubctl approve %s"`, cmp.Or(f.Record.ID, "ID"))
	}
	return pass("not needed")
}}
