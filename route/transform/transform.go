// Package transform makes the text that is typed out of the answer that fired, one file a transform. It is pure.
package transform

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// ErrTooLong is returned instead of a text that is longer than Input.Max. Nothing is ever cut.
var ErrTooLong = errors.New("the text is too long")

// Input is what a transform may use. Everything in it but Template comes from outside and is inserted, never expanded.
type Input struct {
	Answer    string
	Lines     []string // logical lines of the source's terminal; only for transforms whose Info.Output is set
	Template  string
	Round     int
	MaxRounds int
	Source    string // agent
	Cwd       string // of the source
	Max       int    // bytes; 0: no limit
}

// Info describes a transform.
type Info struct {
	Name   string
	Output bool // it works on the terminal's lines
	Apply  func(Input) (string, error)
}

var registry = map[string]Info{}

func register(i Info) {
	if _, twice := registry[i.Name]; twice {
		panic("transform: registered twice: " + i.Name)
	}
	registry[i.Name] = i
}

// Names lists the transforms of this build.
func Names() []string { return slices.Sorted(maps.Keys(registry)) }

// Get finds a transform by its name.
func Get(name string) (Info, bool) {
	i, ok := registry[name]
	return i, ok
}

// lastLines joins the last n lines of a terminal; blank lines below the text do not count.
func lastLines(in Input, n int) (string, error) {
	end := len(in.Lines)
	for end > 0 && strings.TrimSpace(in.Lines[end-1]) == "" {
		end--
	}
	text := strings.Join(in.Lines[max(end-n, 0):end], "\n")
	if in.Max > 0 && len(text) > in.Max {
		return "", ErrTooLong
	}
	return text, nil
}
