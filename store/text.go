package store

import (
	"context"
	"crypto/sha256"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/madohub/madohub/store/file"
)

// textHash makes texts comparable that differ only in what agents change when they take a prompt: Unicode form, tabs
// (Claude Code 2.1.332 writes four spaces), line ends, space around it. Seen 2026-11-30.
func textHash(text string) []byte {
	text = norm.NFC.String(strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", "    ").Replace(text)
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return sum[:]
}

// pair hashes two strings so that no other two give the same.
func pair(a, b string) []byte {
	sum := sha256.Sum256([]byte(a + "\x00" + b))
	return sum[:]
}

// Ours reports whether a text is one that was, or may have been, typed into an agent since a time. It is known from the
// intent on: the agent shows a prompt before we have the proof.
func (s *Store) Ours(ctx context.Context, agent, text string, since time.Time) (bool, error) {
	var found bool
	err := s.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM typed WHERE agent = ? AND hash = ? AND time >= ?)",
		agent, textHash(text), nanos(since)).Scan(&found)
	if err != nil {
		return false, file.Typed("look for a text that was typed", err)
	}
	return found, nil
}

// ours notes a text as typed.
func (t *tx) ours(ctx context.Context, agent, text, id string) error {
	if text == "" {
		return nil
	}
	_, err := t.ExecContext(ctx, "INSERT OR REPLACE INTO typed (agent, hash, id, time) VALUES (?, ?, ?, ?)",
		agent, textHash(text), id, nanos(t.now))
	return err
}
