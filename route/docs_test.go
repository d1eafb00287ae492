package route

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/route/transform"
	"github.com/madohub/madohub/route/trigger"
)

// TestRoutingPageNamesEverything: the page for users has every word that a record, a trigger or a transform can show.
func TestRoutingPageNamesEverything(t *testing.T) {
	data, err := os.ReadFile("../docs/routing.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	var rows []string
	for _, o := range record.Outcomes {
		rows = append(rows, fmt.Sprintf("| `%s` | ", o))
		for _, r := range record.Reasons[o] {
			rows = append(rows, fmt.Sprintf("| `%s` | `%s` | ", o, r))
		}
	}
	for _, name := range append(trigger.Names(), transform.Names()...) {
		rows = append(rows, fmt.Sprintf("| `%s`", name))
	}
	for _, row := range rows {
		if !strings.Contains(page, "\n"+row) {
			t.Errorf("docs/routing.md has no row %q", row)
		}
	}
	known := len(record.Outcomes)
	for _, reasons := range record.Reasons {
		known += len(reasons)
	}
	outcomes := page[strings.Index(page, "\n## Outcomes"):]
	if n := strings.Count(outcomes, "\n| `"); n != known {
		t.Errorf("docs/routing.md has %d rows of outcomes and reasons, there are %d", n, known)
	}
}
