//go:build agents

package realagents

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/madohub/madohub/record"
)

// results is the table that is printed at the end.
var results struct {
	sync.Mutex
	rows []row
	late []time.Duration
}

type row struct {
	test, what, got string
	ok              bool
	took            time.Duration
}

// note adds a line to the table, and fails the test unless ok.
func note(t *testing.T, what string, ok bool, began time.Time, format string, args ...any) {
	t.Helper()
	got := fmt.Sprintf(format, args...)
	results.Lock()
	results.rows = append(results.rows, row{t.Name(), what, got, ok, time.Since(began)})
	results.Unlock()
	if !ok {
		t.Errorf("%s: %s", what, got)
	}
}

// late notes how long a delivery took from the end of the turn that its source's transcript has, without idle_delay, to its
// first key, which was so long before the submit key as the record says.
func late(r record.Record, end time.Time) {
	for _, step := range r.Steps {
		if step.Name == "entered" {
			first := step.Time.Add(-time.Duration(r.Timings.Type) * time.Millisecond)
			results.Lock()
			results.late = append(results.late, first.Sub(end)-idleDelay)
			results.Unlock()
			return
		}
	}
}

// bin is the folder of our own binaries.
var bin string

func TestMain(m *testing.M) {
	began := time.Now()
	code := 1
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(bin)
	report(began)
	if len(results.rows) == 0 && code == 0 {
		fmt.Println("nothing ran: that is a failure")
		code = 1
	}
	os.Exit(code)
}

// build makes the binaries that are tested, with the flags of the tests, so that the build cache serves both.
func build() (err error) {
	if bin, err = os.MkdirTemp("", "mado-bin-"); err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-o", bin, "../../cmd/madohub", "../../cmd/madohubctl")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the binaries: %w\n%s", err, out)
	}
	return nil
}

// report prints the table.
func report(began time.Time) {
	results.Lock()
	defer results.Unlock()
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "\nTEST\tCASE\tOK\tSECONDS\tWHAT HAPPENED")
	for _, r := range results.rows {
		ok := "ok"
		if !r.ok {
			ok = "FAIL"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.1f\t%.90s\n", r.test, r.what, ok, r.took.Seconds(), r.got)
	}
	_ = w.Flush() // as for all that is printed: nobody is left to be told
	if ds := slices.Sorted(slices.Values(results.late)); len(ds) > 0 {
		fmt.Printf("end of turn + idle_delay to the first key, poll 500ms: median %d ms, 90 %% %d ms, most %d ms, %d deliveries\n",
			ds[len(ds)/2].Milliseconds(), ds[len(ds)*9/10].Milliseconds(), ds[len(ds)-1].Milliseconds(), len(ds))
	}
	fmt.Printf("%d cases with real agents in %.0f s\n", len(results.rows), time.Since(began).Seconds())
}

// matrix reports whether everything is to run, many times.
func matrix() bool { return os.Getenv("MADOHUB_MATRIX") == "1" }

// rounds is how often the matrix repeats what may fail only now and then: $MADOHUB_ROUNDS, or once.
func rounds() int {
	n, err := strconv.Atoi(os.Getenv("MADOHUB_ROUNDS"))
	if err != nil || n < 1 || !matrix() {
		return 1
	}
	return n
}
