package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/madohub/madohub/record"
)

// writerEnv makes the test program a writer that is to be killed.
const writerEnv = "MADOHUB_TEST_STORE_WRITER"

// writeForEver decides, intends and finishes, and says after each step what was acknowledged.
func writeForEver(path string) {
	ctx := context.Background()
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	s, err := Open(ctx, path, Options{})
	fail(err)
	start := s.Seq()
	for i := 0; ; i++ {
		d := held(fmt.Sprintf("r_%d_%d", start, i), "c", fmt.Sprintf("t_%d_%d", start, i))
		_, err := s.Decide(ctx, d)
		fail(err)
		fmt.Println("decided", d.Record.ID, d.Record.Seq)
		fail(s.Intend(ctx, d.Record, record.Intent{ID: d.Record.ID}))
		fmt.Println("intended", d.Record.ID, d.Record.Seq)
		d.Record.Outcome, d.Record.Reason = record.Delivered, ""
		fail(s.Finish(ctx, d.Record, false))
		fmt.Println("finished", d.Record.ID, d.Record.Seq)
	}
}

func TestKilledWriterLosesNothingThatWasAcknowledged(t *testing.T) {
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	path := filepath.Join(t.TempDir(), "state", "madohub.db")
	acked := map[string]string{}
	order := map[string]int{"decided": 1, "intended": 2, "finished": 3}
	for i := range rounds {
		lastID, lastSeq := killWriter(t, path, 5+i*7, acked)
		s := openAt(t, path)
		if s.Corrupt() != "" {
			t.Fatalf("round %d: the database was corrupt after the kill", i)
		}
		if s.Seq() < lastSeq {
			t.Fatalf("round %d: seq %d is behind the acknowledged %d", i, s.Seq(), lastSeq)
		}
		round, intended := counter(t, s, "c").Round, 0
		for id, step := range acked {
			rec := get(t, s, id)
			if step == "finished" && rec.Outcome != record.Delivered {
				t.Errorf("%s was finished and is %s", id, rec.Outcome)
			}
			if order[step] >= order["intended"] {
				intended++
			}
		}
		if round < intended || round > intended+i+1 { // each kill may have come between a commit and its acknowledgement
			t.Errorf("round %d after %d acknowledged intents and %d kills", round, intended, i+1)
		}
		un, err := s.Intents(context.Background())
		if err != nil || len(un) > 1 || (acked[lastID] == "intended" && len(un) == 0 && get(t, s, lastID).Outcome != record.Delivered) {
			t.Errorf("intents after the kill: %v, %v (last acknowledged: %s %s)", un, err, lastID, acked[lastID])
		}
		for _, u := range un { // as the daemon would
			u.Item.Record.Outcome, u.Item.Record.Reason = record.Unknown, record.Crash
			if err := s.Finish(context.Background(), &u.Item.Record, false); err != nil {
				t.Error(err)
			}
			delete(acked, u.Item.Record.ID)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killWriter runs a writer until it has acknowledged some steps, and kills it wherever it is then.
func killWriter(t *testing.T, path string, steps int, acked map[string]string) (lastID string, lastSeq int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerEnv+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timeout := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timeout.Stop()
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		var step string
		if _, err := fmt.Sscan(lines.Text(), &step, &lastID, &lastSeq); err != nil {
			t.Errorf("line %q: %v", lines.Text(), err)
		}
		acked[lastID] = step
		if n == steps { // what it writes between here and its death is read too: all of it was acknowledged
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // killed
	if lastSeq == 0 {
		t.Fatal("the writer acknowledged nothing")
	}
	return lastID, lastSeq
}
