package transform

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func apply(t *testing.T, name string, in Input) (string, error) {
	t.Helper()
	i, ok := Get(name)
	if !ok {
		t.Fatalf("no transform %q", name)
	}
	return i.Apply(in)
}

func lines(n int, more ...string) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("line %d", i+1))
	}
	return append(out, more...)
}

func TestTransforms(t *testing.T) {
	wrap := Input{Answer: "ANSWER", Round: 2, MaxRounds: 5, Source: "coder", Cwd: "/src/app"}
	with := func(template string) Input { in := wrap; in.Template = template; return in }
	tests := []struct {
		name, transform string
		in              Input
		want            string
		err             error
	}{
		{"raw takes the last 10", "raw", Input{Lines: lines(12)}, strings.Join(lines(12)[2:], "\n"), nil},
		{"raw ignores blank lines below", "raw", Input{Lines: lines(12, "", "  ")}, strings.Join(lines(12)[2:], "\n"), nil},
		{"raw keeps blank lines between", "raw", Input{Lines: []string{"a", "", "b"}}, "a\n\nb", nil},
		{"raw of fewer", "raw", Input{Lines: lines(3)}, strings.Join(lines(3), "\n"), nil},
		{"raw of nothing", "raw", Input{}, "", nil},
		{"raw is never cut", "raw", Input{Lines: lines(3), Max: 19}, "", ErrTooLong},
		{"full-output takes the last 30", "full-output", Input{Lines: lines(40)}, strings.Join(lines(40)[10:], "\n"), nil},
		{"no template", "prompt-wrap", wrap, "ANSWER", nil},
		{"all values", "prompt-wrap", with("{round}/{maxRounds} {source} in {cwd}: {output}{output}"), "2/5 coder in /src/app: ANSWERANSWER", nil},
		{"unknown names stay", "prompt-wrap", with("{x} {Output} {} {{output}} ${output} {output"), "{x} {Output} {} {ANSWER} $ANSWER {output", nil},
		{"output may be missing", "prompt-wrap", with("go on"), "go on", nil},
		{"values are not expanded", "prompt-wrap", Input{Answer: "{cwd} {output} $(rm)", Cwd: "{source}", Source: "{round}", Template: "{output}|{cwd}|{source}"}, "{cwd} {output} $(rm)|{source}|{round}", nil},
		{"longest that fits", "prompt-wrap", Input{Answer: "12345", Template: "<{output}>", Max: 7}, "<12345>", nil},
		{"one more", "prompt-wrap", Input{Answer: "123456", Template: "<{output}>", Max: 7}, "", ErrTooLong},
		{"a template that multiplies", "prompt-wrap", Input{Answer: strings.Repeat("x", 100), Template: strings.Repeat("{output}", 1000), Max: 1000}, "", ErrTooLong},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := apply(t, tt.transform, tt.in)
			if !errors.Is(err, tt.err) || (tt.err == nil && err != nil) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	if diff := cmp.Diff([]string{"full-output", "prompt-wrap", "raw"}, Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// FuzzPromptWrap: what stands in a value comes out as it went in, and never more than Max.
func FuzzPromptWrap(f *testing.F) {
	f.Add("a {output} b", "{cwd}{output}", "/x", 100)
	f.Add("{output}{output}", "\x1b[31m{round}", "{source}", 3)
	f.Fuzz(func(t *testing.T, template, answer, cwd string, limit int) {
		got, err := promptWrap(Input{Answer: answer, Template: "<" + template + ">{output}", Cwd: cwd, Max: limit})
		if err != nil {
			if !errors.Is(err, ErrTooLong) || limit <= 0 {
				t.Fatal(err)
			}
			return
		}
		if !strings.HasSuffix(got, ">"+answer) {
			t.Errorf("%q does not end in the answer %q", got, answer)
		}
		if limit > 0 && len(got) > limit {
			t.Errorf("%d bytes, limit %d", len(got), limit)
		}
	})
}
