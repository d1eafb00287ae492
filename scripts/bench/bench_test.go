package main

import (
	"strings"
	"testing"
)

// BenchmarkDesigns prints the whole table once.
func BenchmarkDesigns(b *testing.B) {
	for b.Loop() {
		var table strings.Builder
		err := run(b.Context(), &table, 15, "1,10,100")
		b.Log("\n" + table.String())
		if err != nil {
			b.Fatal(err)
		}
	}
}

// A poll is two processes, however many panes there are.
func TestPollIsTwoProcesses(t *testing.T) {
	for _, n := range []int{1, 7} {
		row, err := benchPoll(t.Context(), n, 1)
		if err != nil {
			t.Fatal(err)
		}
		if row.runs != 2 || row.ours.cpu <= 0 || row.naive.wall <= 0 {
			t.Errorf("%d panes: %+v", n, row)
		}
	}
}
