//go:build agents

package realagents

import (
	"strings"
	"testing"
	"time"
)

// TestHarness proves the rig itself, without MadoHub: what a person types is what the transcript has, and the fake model
// answers it.
func TestHarness(t *testing.T) {
	t.Parallel()
	for _, version := range []string{current, older} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			w := newWorld(t, nil, "a")
			a := w.claude("a", version, nil)
			want := []string{"hello @@short:Simple answer.@@", "list @@tool:touch made@@", "two @@multi@@"}
			for _, p := range want[:1] {
				a.ask(p)
			}
			a.prompt(want[1])
			a.answer("Do you want to proceed?", "Enter")
			a.idle()
			a.ask(want[2])
			got := a.prompts()
			note(t, "prompts typed by the harness", strings.Join(got, "|") == strings.Join(want, "|"), began, "%q", got)
		})
	}
}
