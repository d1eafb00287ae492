package api

import (
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/madohub/madohub/record"
)

func docs(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestDocumentedRoutesAreTheRegisteredOnes(t *testing.T) {
	got := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `((?:GET|POST) [^`]+)` \\| (yes)? *\\|").FindAllStringSubmatch(docs(t), -1) {
		got[m[1]] = m[2] == "yes"
	}
	want := map[string]bool{}
	for _, rt := range routes {
		want[rt.pattern] = rt.needsPerson
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("routes and whether they need a person (-docs +code):\n%s", diff)
	}
}

func TestEveryFieldIsDocumented(t *testing.T) {
	sections := map[string]string{}
	for _, part := range strings.Split(docs(t), "\n### ")[1:] {
		title, text, _ := strings.Cut(part, "\n")
		text, _, _ = strings.Cut(text, "\n## ")
		sections[title] = text
	}
	for _, v := range []any{
		Status{},
		Health{},
		Daemon{},
		Tmux{},
		Agent{},
		Connection{},
		Queued{},
		Dispatch{},
		ConfigState{},
		Send{},
		SwitchRequest{},
		ResolveRequest{},
		Answer{},
		Explanation{},
		Check{},
		Error{},
		record.Record{},
		record.Timings{},
		record.Step{},
	} {
		typ := reflect.TypeOf(v)
		var want []string
		for i := range typ.NumField() {
			if tag, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ","); tag != "-" {
				want = append(want, tag)
			}
		}
		var got []string
		for _, line := range strings.Split(sections[typ.Name()], "\n") {
			names, _, isField := strings.Cut(strings.TrimPrefix(line, "- "), ": ")
			if !isField || !strings.HasPrefix(line, "- ") {
				continue
			}
			for _, name := range strings.Split(names, ", ") {
				got = append(got, strings.Trim(name, "`"))
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("fields of %s (-docs +code):\n%s", typ.Name(), diff)
		}
	}
}

func TestDocumentedReasonsAreTheClosedLists(t *testing.T) {
	text := docs(t)
	for _, o := range record.Outcomes {
		m := regexp.MustCompile("(?m)^\\| `" + string(o) + "` \\|(.*)\\|$").FindStringSubmatch(text)
		if m == nil {
			t.Errorf("outcome %s is not documented", o)
			continue
		}
		var got []record.Reason
		for _, word := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(m[1], -1) {
			got = append(got, record.Reason(word[1]))
		}
		if diff := cmp.Diff(got, record.Reasons[o]); diff != "" {
			t.Errorf("reasons of %s (-docs +code):\n%s", o, diff)
		}
	}
}

func TestDocumentedMetricsAreTheRegisteredOnes(t *testing.T) {
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(madohub_[a-z_]+)` \\|").FindAllStringSubmatch(docs(t), -1) {
		got = append(got, m[1])
	}
	m := NewMetrics()
	m.SetNow(func() (Now, error) { return Now{Queue: map[string]int{"x": 1}}, nil })
	m.SetVersion("x")
	answer := httptest.NewRecorder()
	m.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	var want []string
	for _, m := range regexp.MustCompile("(?m)^# TYPE (madohub_[a-z_]+) ").FindAllStringSubmatch(answer.Body.String(), -1) {
		want = append(want, m[1])
	}
	slices.Sort(got)
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("metrics (-docs +code):\n%s", diff)
	}
}
