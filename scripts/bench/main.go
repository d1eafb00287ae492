// Bench measures on private tmux servers what watching and typing cost, beside the naive design that runs one tmux
// process for each pane or line. Both run in turn on the same server, so that the ratios hold where the milliseconds
// don't. CPU is that of this process, of its children and of the tmux server.
//
//	go run ./scripts/bench [-rounds 15] [-panes 1,10,100]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 15, "measured rounds of each")
	panes := flag.String("panes", "1,10,100", "numbers of panes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, *rounds, *panes)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: error:", err)
		os.Exit(1)
	}
}

// run prints the table. More than two processes a poll are an error.
func run(ctx context.Context, w io.Writer, rounds int, panes string) error {
	if rounds < 1 {
		return errors.New("rounds must be 1 or more")
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "medians\tours CPU\tnaive CPU\tratio\tours wall\tnaive wall\tratio\tprocesses\tnaive\t")
	var tooMany error
	for field := range strings.SplitSeq(panes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 1 {
			return fmt.Errorf("-panes: %q is not a number of panes", field)
		}
		row, err := benchPoll(ctx, n, rounds)
		if err != nil {
			return fmt.Errorf("poll %d panes: %w", n, err)
		}
		row.print(table)
		if row.runs > 2 {
			tooMany = fmt.Errorf("a poll of %d panes took %d processes, not 2", n, row.runs)
		}
	}
	row, err := benchPaste(ctx, rounds)
	if err != nil {
		return fmt.Errorf("deliver: %w", err)
	}
	row.print(table)
	if err := table.Flush(); err != nil {
		return err
	}
	return tooMany
}

// result is one line of the table.
type result struct {
	name            string
	ours, naive     cost
	runs, naiveRuns int
}

func (r result) print(w io.Writer) {
	fmt.Fprintf(w, "%s\t%s\t%s\t%.1f\t%s\t%s\t%.1f\t%d\t%d\t\n", r.name,
		ms(r.ours.cpu), ms(r.naive.cpu), ratio(r.naive.cpu, r.ours.cpu),
		ms(r.ours.wall), ms(r.naive.wall), ratio(r.naive.wall, r.ours.wall), r.runs, r.naiveRuns)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond)) }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }

// cost is what one run of something took.
type cost struct{ cpu, wall time.Duration }

// compare runs both designs in turn and returns their medians. The first round only warms up.
func (s *server) compare(rounds int, ours, naive func() error) (result, error) {
	var a, b []cost
	for round := range rounds + 1 {
		mine, err := s.measure(ours)
		if err != nil {
			return result{}, err
		}
		other, err := s.measure(naive)
		if err != nil {
			return result{}, fmt.Errorf("naive: %w", err)
		}
		if round > 0 {
			a, b = append(a, mine), append(b, other)
		}
	}
	return result{ours: median(a), naive: median(b)}, nil
}

func median(costs []cost) cost {
	cpu, wall := make([]time.Duration, len(costs)), make([]time.Duration, len(costs))
	for i, c := range costs {
		cpu[i], wall[i] = c.cpu, c.wall
	}
	slices.Sort(cpu)
	slices.Sort(wall)
	return cost{cpu[len(cpu)/2], wall[len(wall)/2]}
}

func (s *server) measure(f func() error) (cost, error) {
	cpu, err := s.cpu()
	if err != nil {
		return cost{}, err
	}
	began := time.Now()
	if err := f(); err != nil {
		return cost{}, err
	}
	wall := time.Since(began)
	after, err := s.cpu()
	return cost{cpu: after - cpu, wall: wall}, err
}
