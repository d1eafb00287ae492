package typist

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"github.com/madohub/madohub/agent"
)

// modeLines is the typing mode in which each line is a paste of its own.
const modeLines = "lines"

// perPiece is what one guarded paste costs beside its pause: a tmux client (tmux 3.3a, 2026-11-30: 3–9 ms).
const perPiece = 8 * time.Millisecond

// split cuts a clean text into the pieces that are pasted one by one. Joined they are the text again.
func split(text string, t agent.Text) []string {
	if t.Mode != modeLines {
		return []string{text}
	}
	var out []string
	for _, line := range strings.SplitAfter(text, "\n") {
		if line != "" {
			out = append(out, cut(line, t.MaxPiece)...)
		}
	}
	took := time.Duration(len(out)-1) * (t.LineDelayMax + perPiece)
	if t.MaxDuration > 0 && took > t.MaxDuration {
		return []string{text}
	}
	return out
}

// cut cuts a line into pieces of at most limit characters, between grapheme clusters. Characters are counted as Claude Code
// does, in UTF-16 units (2.1.332, 2026-11-30: a paste of more than 800 becomes "pasted content"). A cluster that is itself
// too long (a letter under a thousand accents) is cut between its code points.
func cut(line string, limit int) []string {
	if limit <= 0 || len(line) <= limit {
		return []string{line}
	}
	var out []string
	start, end, size := 0, 0, 0
	add := func(s string, n int) {
		if size > 0 && size+n > limit {
			out = append(out, line[start:end])
			start, size = end, 0
		}
		end += len(s)
		size += n
	}
	rest, state := line, -1
	for rest != "" {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		n := units(cluster)
		if n <= limit {
			add(cluster, n)
			continue
		}
		for _, r := range cluster {
			add(string(r), units(string(r)))
		}
	}
	return append(out, line[start:end])
}

func units(s string) int {
	n := 0
	for _, r := range s {
		if n++; r > 0xffff {
			n++
		}
	}
	return n
}

// reached says in a person's words how far the first k pieces went.
func reached(pieces []string, k int) (line, lines int) {
	lines = strings.Count(strings.Join(pieces, ""), "\n") + 1
	line = strings.Count(strings.Join(pieces[:k], ""), "\n")
	if k > 0 && !strings.HasSuffix(pieces[k-1], "\n") {
		line++
	}
	return line, lines
}

// between is a random time between the two, so that the pace is a person's.
func between(low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + rand.N(high-low+1)
}
