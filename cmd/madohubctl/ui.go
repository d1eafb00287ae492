package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/madohub/madohub/api"
	"github.com/madohub/madohub/config"
	"github.com/madohub/madohub/record"
)

// The UI rules: data on standard output, words on standard error. Errors are lower case and have no full stop; a hint says
// what to do next. Nothing that came from outside reaches the terminal before clean or cleanText has seen it. --json is
// stable: fields are only ever added.

// The exit codes of the contract.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitDaemon = 3
	exitHeld   = 4
)

// ui is all output of one run.
type ui struct {
	out, err io.Writer
	width    int // columns that a table may take
	now      func() time.Time
}

// defaultWidth is what output is laid out for where there is no terminal.
const defaultWidth = 80

func newUI(out, errs io.Writer) *ui {
	u := &ui{out: out, err: errs, width: defaultWidth, now: time.Now}
	if f, ok := out.(*os.File); ok {
		if w := ttyWidth(f); w > 0 {
			u.width = max(w, 40)
		}
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= 40 && n <= 1000 {
		u.width = n
	}
	return u
}

// printf writes data. Arguments that came from outside must be cleaned by the caller.
func (u *ui) printf(format string, args ...any) {
	fmt.Fprintf(u.out, format, args...) // a closed pipe ends the program by its signal
}

// say writes words to standard error.
func (u *ui) say(format string, args ...any) {
	fmt.Fprintf(u.err, format+"\n", args...) // nobody is left to be told
}

// json writes one value: indented, or on one line for streams.
func (u *ui) json(v any, oneLine bool) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if !oneLine {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err := io.WriteString(u.out, escapeJSON(b.String()))
	return err
}

// usageError is a mistake in how the program was called.
type usageError struct{ message, hint string }

func (e *usageError) Error() string { return e.message }

// hinted is an error with advice.
type hinted struct {
	err  error
	hint string
}

func (e *hinted) Error() string { return e.err.Error() }
func (e *hinted) Unwrap() error { return e.err }

// exit ends the program with a code when everything has been said already.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// fail prints an error, if there is one, and tells the exit code.
func (u *ui) fail(err error) int {
	var code exit
	var refused *api.Error
	var usage *usageError
	var problems config.Problems
	var advised *hinted
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, context.Canceled):
		u.error("interrupted", "")
		return exitFailed
	case errors.As(err, &usage):
		u.error(usage.message, usage.hint)
		return exitUsage
	case errors.Is(err, api.ErrNoDaemon):
		u.error(err.Error(), `start it with "madohub"`)
		return exitDaemon
	case errors.Is(err, api.ErrStreamEnded):
		u.error(err.Error(), "it was stopped or restarted; the log goes on where it ended")
		return exitDaemon
	case errors.As(err, &refused):
		message := refused.Message
		if refused.Reason != "" {
			message += " (" + string(refused.Reason) + ")"
		}
		u.error(message, refused.Hint)
		if refused.Status == http.StatusUnprocessableEntity {
			return exitUsage // the configuration was refused
		}
		return exitFailed
	case errors.As(err, &problems):
		u.error(problems.Error(), "")
		return exitUsage
	case errors.As(err, &advised):
		u.error(err.Error(), advised.hint)
	default:
		u.error(err.Error(), "")
	}
	if errors.Is(err, config.ErrNotFound) || errors.Is(err, config.ErrUnreadable) {
		return exitUsage
	}
	return exitFailed
}

func (u *ui) error(message, hint string) {
	u.say("madohubctl: error: %s", cleanText(message))
	if hint != "" {
		u.say("madohubctl: hint: %s", cleanText(hint))
	}
}

// outcomeCode is the exit code that a delivery's outcome asks for.
func outcomeCode(o record.Outcome) error {
	switch o {
	case record.Delivered, record.QueuedByTarget:
		return nil
	case record.Held:
		return exit(exitHeld)
	}
	return exit(exitFailed)
}

// outcome is an outcome with its reason, as it stands in tables.
func outcome(o record.Outcome, r record.Reason) string {
	switch {
	case r != "":
		return clean(string(o) + " " + string(r))
	case o == record.Held:
		return clean(string(o)) + " (in turn)" // nothing speaks against it; it is about to be typed
	}
	return clean(string(o))
}

// outcomeOf is that of a record, which also knows whether its text is being typed.
func outcomeOf(r record.Record) string {
	if r.Outcome == record.Held && r.Reason == "" && r.Attempts > 0 {
		return clean(string(r.Outcome)) + " (typing)"
	}
	return outcome(r.Outcome, r.Reason)
}

// age is how long ago something was, in one unit or two.
func (u *ui) age(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return span(u.now().Sub(t))
}

func span(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// stamp is a time of day, with the date unless it is today.
func (u *ui) stamp(t time.Time) string {
	t = t.Local()
	now := u.now().Local()
	if t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return t.Format("15:04:05")
	}
	if now.Sub(t) < 300*24*time.Hour {
		return t.Format("Jan 02 15:04")
	}
	return t.Format("2006-01-02")
}

// route is one arrow from agent to agent.
func route(from, to string) string {
	if from == "" {
		from = "(you)"
	}
	return clean(from) + " → " + clean(to)
}

// shortIDs gives a function that shortens ids so that they stay different from each other. Any of them is understood by
// every command that takes an id.
func shortIDs(ids []string) func(string) string {
	n := 14 // r_, the 10 characters of a ULID's time, 2 of its chance
	for ; n < 28; n++ {
		seen := map[string]string{}
		clash := false
		for _, id := range ids {
			p := id[:min(n, len(id))]
			if other, ok := seen[p]; ok && other != id {
				clash = true
			}
			seen[p] = id
		}
		if !clash {
			break
		}
	}
	return func(id string) string { return clean(id[:min(n, len(id))]) }
}

// indent puts a text under a heading.
func indent(s, by string) string {
	return by + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+by)
}
