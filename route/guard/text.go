package guard

import (
	"strings"

	"github.com/madohub/madohub/record"
)

// Content asks: there is a text, it is not longer than allowed (nothing is ever cut), and a shell gets one line at most.
var Content = Gate{"text", func(f *Facts) Verdict {
	toAgent := f.Agents[f.Record.To]
	limit := f.Limits.MaxText
	shell := f.To.Shell || (toAgent != nil && toAgent.Kind == "shell")
	switch {
	case strings.TrimSpace(f.Record.Text) == "":
		return no(record.Blocked, record.EmptyText, "the text to type is empty")
	case limit > 0 && len(f.Record.Text) > limit:
		return TooLong(limit)
	case shell && toAgent != nil && !toAgent.MultiLine && strings.ContainsAny(f.Record.Text, "\n\r"):
		return no(record.Blocked, record.MultiLine, "%q is a shell: each line would run as a command; multi_line: true allows it", f.Record.To)
	}
	return pass("%d bytes", len(f.Record.Text))
}}

// TooLong is the verdict on a text that would be longer than limits.max_text.
func TooLong(limit int) Verdict {
	return no(record.Blocked, record.TooLong, "the text is longer than limits.max_text (%d bytes); texts are never cut: raise it, or use the transform raw", limit)
}
