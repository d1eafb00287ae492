// Latency measures from outside how long MadoHub takes where nothing asks it to wait: from the end of a source's turn, plus
// idle_delay, to the first byte that reaches the target. The end is the time that stands in the source's own transcript, the
// first byte that of the target's own log of its terminal; both agents are scripted, the daemon, tmux and the panes are real.
//
//	go run ./scripts/latency [-n 24] [-poll 500ms] [-idle 1s]
//
// It ends with 1 if the median is over 0.7 s.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/scripts/rig"
)

const (
	// limit is what the median may be: a poll of 500 ms and what typing needs.
	limit = 700 * time.Millisecond
	// patient bounds one condition; it is no measure.
	patient = time.Minute
	// maxRounds is the most that a connection may be given; then it is re-armed.
	maxRounds = 20
)

const script = `delay: 300ms
rules:
  - {match: 'number (\d+)', answer: 'The answer to number $1.'}
`

const configuration = `tmux: {socket: %s, poll: %s}
dispatch: legacy
idle_delay: %s
limits: {target_spacing: 0s}
agents:
  - {name: a, pane: a}
  - {name: b, pane: b}
connections:
  - {name: pass, from: a, to: b, guard: {cooldown: 1s, max_rounds: 20}}
`

func main() {
	n := flag.Int("n", 24, "deliveries")
	poll := flag.Duration("poll", 500*time.Millisecond, "tmux.poll")
	idle := flag.Duration("idle", time.Second, "idle_delay")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, *n, *poll, *idle)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "latency: error:", err)
		os.Exit(1)
	}
}

// run measures n deliveries and prints the table.
func run(ctx context.Context, out io.Writer, n int, poll, idle time.Duration) (err error) {
	if n < 1 {
		return errors.New("n must be 1 or more")
	}
	dir, err := os.MkdirTemp("/tmp", "mado-late-") // short: sockets are in it
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer os.RemoveAll(dir)
	w := &world{dir: dir, idle: idle}
	defer func() { err = errors.Join(err, w.end()) }()
	if err := w.begin(ctx, poll); err != nil {
		return err
	}
	var all []sample
	for i := range n {
		s, err := w.deliver(ctx, i)
		if err != nil {
			return fmt.Errorf("delivery %d: %w", i, err)
		}
		all = append(all, s)
	}
	return report(out, all, poll, idle)
}

// sample is one delivery; every part is without idle_delay.
type sample struct {
	firstByte time.Duration // end of the turn in the transcript → first byte in the target's terminal: what counts
	fired     time.Duration // … → the decision, as the record says
	intent    time.Duration // … → the intent on disk, as the record says
}

// report prints the table and judges the median.
func report(out io.Writer, all []sample, poll, idle time.Duration) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "end of turn + idle_delay to\tleast\tmedian\t90 %\tmost\t")
	var median time.Duration
	for _, row := range []struct {
		name string
		of   func(sample) time.Duration
	}{
		{"decision", func(s sample) time.Duration { return s.fired }},
		{"intent on disk", func(s sample) time.Duration { return s.intent }},
		{"first byte in the target", func(s sample) time.Duration { return s.firstByte }},
	} {
		var ds []time.Duration
		for _, s := range all {
			ds = append(ds, row.of(s))
		}
		slices.Sort(ds)
		median = ds[len(ds)/2]
		fmt.Fprint(table, row.name, "\t")
		for _, d := range []time.Duration{ds[0], median, ds[len(ds)*9/10], ds[len(ds)-1]} {
			fmt.Fprintf(table, "%d ms\t", d.Milliseconds())
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	fmt.Fprintf(out, "%d deliveries, poll %s, idle_delay %s; the median may be %s\n", len(all), poll, idle, limit)
	if median > limit {
		return fmt.Errorf("the median is %s, more than %s", median.Round(time.Millisecond), limit)
	}
	return nil
}

// world is one tmux server with two scripted agents and a daemon.
type world struct {
	dir    string
	idle   time.Duration
	tmux   *rig.Tmux
	a, b   *rig.Pane
	daemon *rig.Daemon
}

func (w *world) home() rig.Home { return rig.Home(filepath.Join(w.dir, "home")) }

func (w *world) bytes(name string) string { return filepath.Join(w.dir, name+".bytes.jsonl") }

// begin builds the binaries and starts everything.
func (w *world) begin(ctx context.Context, poll time.Duration) error {
	bin := filepath.Join(w.dir, "bin") + "/"
	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/madohub", "./cmd/madohubctl", "./scripts/scripted")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the binaries: %w\n%s", err, out)
	}
	if err := os.Symlink(bin+"scripted", bin+"claude"); err != nil { // agents are known by the exact name of their process
		return fmt.Errorf("link the scripted agent: %w", err)
	}
	rules := filepath.Join(w.dir, "rules.yaml")
	if err := os.WriteFile(rules, []byte(script), 0o600); err != nil {
		return fmt.Errorf("write the script: %w", err)
	}
	var err error
	if w.tmux, err = rig.NewTmux(w.dir); err != nil {
		return err
	}
	for name, pane := range map[string]**rig.Pane{"a": &w.a, "b": &w.b} {
		cwd := filepath.Join(w.dir, name)
		if err := os.Mkdir(cwd, 0o700); err != nil {
			return fmt.Errorf("make a directory: %w", err)
		}
		env := []string{"CLAUDE_CONFIG_DIR=" + string(w.home())}
		if *pane, err = w.tmux.NewPane(name, cwd, env, bin+"claude", "--script", rules, "--log", w.bytes(name)); err != nil {
			return err
		}
	}
	state := filepath.Join(w.dir, "d")
	if err := os.Mkdir(state, 0o700); err != nil {
		return fmt.Errorf("make the state directory: %w", err)
	}
	if w.daemon, err = rig.NewDaemon(bin, state, fmt.Sprintf(configuration, w.tmux.Socket, poll, w.idle)); err != nil {
		return err
	}
	w.daemon.Env = []string{"CLAUDE_CONFIG_DIR=" + string(w.home())}
	if err := w.daemon.Start(ctx); err != nil {
		return err
	}
	return errors.Join(w.idles(ctx, "a"), w.idles(ctx, "b"))
}

// end stops what begin started.
func (w *world) end() error {
	var err error
	if w.daemon != nil {
		err = w.daemon.Stop()
	}
	if w.tmux != nil {
		err = errors.Join(err, w.tmux.Kill())
	}
	return err
}

// idles waits until the daemon sees an agent idle.
func (w *world) idles(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	return w.daemon.WaitState(ctx, name, record.StateIdle)
}

// deliver lets one answer go from a to b and measures it.
func (w *world) deliver(ctx context.Context, i int) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	if i > 0 && i%maxRounds == 0 {
		if _, _, err := w.daemon.Ctl("rearm", "pass"); err != nil {
			return sample{}, err
		}
	}
	before, err := rig.ByteLog(w.bytes("b"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return sample{}, err
	}
	pause(ctx, time.Duration(rand.Int64N(int64(500*time.Millisecond)))) // no delivery shall know where in a poll it falls
	if err := w.a.Prompt(ctx, fmt.Sprintf("number %d", i)); err != nil {
		return sample{}, err
	}
	// Nobody asks the daemon anything while it is measured.
	want := fmt.Sprintf("The answer to number %d.", i)
	var first time.Time
	err = rig.Wait(ctx, "b takes "+want, func() (bool, error) {
		log, err := rig.ByteLog(w.bytes("b"))
		if err != nil || !slices.Contains(rig.Texts(log, "submit"), want) {
			return false, err
		}
		for _, n := range log[len(before):] {
			if n.Raw != "" {
				first = n.Time
				return true, nil
			}
		}
		return false, errors.New("no byte arrived")
	})
	if err != nil {
		return sample{}, err
	}
	rec, err := w.daemon.Find(ctx, want, func(r record.Record) bool { return r.SourceText == want && r.Outcome == record.Delivered })
	if err != nil {
		return sample{}, err
	}
	lines, err := w.home().Transcript(filepath.Join(w.dir, "a"))
	if err != nil {
		return sample{}, err
	}
	from := rig.TurnEnd(lines).Add(w.idle)
	s := sample{firstByte: first.Sub(from), fired: rec.Time.Sub(from)}
	for _, step := range rec.Steps {
		if step.Name == "intent" {
			s.intent = step.Time.Sub(from)
		}
	}
	return s, w.home().WaitIdle(ctx, filepath.Join(w.dir, "b"))
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
