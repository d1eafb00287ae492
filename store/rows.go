package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/madohub/madohub/record"
)

// The most that a record keeps. limits.max_text is far below maxText; a text that is to be typed and is longer is refused
// and never cut.
const (
	maxText   = 4 << 20
	maxWord   = 512  // names, ids
	maxDetail = 2000 // a sentence for a person
	maxNote   = 500
	maxHops   = 64
	cutMark   = " … (cut)"
)

// insert writes a new record.
func (t *tx) insert(ctx context.Context, r *record.Record) error {
	if r.ID == "" {
		return errors.New("a record needs an id")
	}
	blob, err := t.stamp(ctx, r)
	if err != nil {
		return err
	}
	res, err := t.ExecContext(ctx, `INSERT INTO records
		(id, seq, time, updated, connection, from_agent, to_agent, origin, outcome, reason, turn)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.Seq, nanos(r.Time), nanos(r.Updated), r.Connection, r.From, r.To, r.Origin, r.Outcome, r.Reason, r.Turn)
	if err != nil {
		return err
	}
	ord, err := res.LastInsertId()
	if err != nil {
		return err
	}
	if _, err := t.ExecContext(ctx, "INSERT INTO bodies (ord, json) VALUES (?, ?)", ord, blob); err != nil {
		return err
	}
	t.changed = append(t.changed, detached(*r))
	return nil
}

// save writes a record that exists.
func (t *tx) save(ctx context.Context, r *record.Record) error {
	blob, err := t.stamp(ctx, r)
	if err != nil {
		return err
	}
	var ord int64
	err = t.QueryRowContext(ctx, `UPDATE records SET seq = ?, time = ?, updated = ?, connection = ?, from_agent = ?, to_agent = ?,
		origin = ?, outcome = ?, reason = ?, turn = ? WHERE id = ? RETURNING ord`,
		r.Seq, nanos(r.Time), nanos(r.Updated), r.Connection, r.From, r.To, r.Origin, r.Outcome, r.Reason, r.Turn, r.ID).Scan(&ord)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if err != nil {
		return err
	}
	if _, err := t.ExecContext(ctx, "UPDATE bodies SET json = ? WHERE ord = ?", blob, ord); err != nil {
		return err
	}
	t.changed = append(t.changed, detached(*r))
	return nil
}

// stamp bounds a record, gives it the next seq, and encodes it.
func (t *tx) stamp(ctx context.Context, r *record.Record) ([]byte, error) {
	if err := bound(r); err != nil {
		return nil, err
	}
	r.Updated = t.now.UTC()
	if r.Time.IsZero() {
		r.Time = r.Updated
	}
	r.Time = r.Time.UTC()
	err := t.QueryRowContext(ctx, "UPDATE meta SET value = value + 1 WHERE key = 'seq' RETURNING value").Scan(&r.Seq)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // people read this with sqlite3
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// detached shares no memory with r: the caller goes on working with r while followers read.
func detached(r record.Record) record.Record {
	r.Steps, r.Hops = slices.Clone(r.Steps), slices.Clone(r.Hops)
	return r
}

// load reads one record by its whole id.
func load(ctx context.Context, q querier, id string) (record.Record, error) {
	var blob []byte
	err := q.QueryRowContext(ctx, "SELECT b.json FROM records r JOIN bodies b ON b.ord = r.ord WHERE r.id = ?", id).Scan(&blob)
	if errors.Is(err, sql.ErrNoRows) {
		return record.Record{}, ErrNotFound
	}
	if err != nil {
		return record.Record{}, err
	}
	return decode(blob)
}

// A querier is a transaction or the readers.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func decode(blob []byte) (record.Record, error) {
	var r record.Record
	if err := json.Unmarshal(blob, &r); err != nil {
		return r, fmt.Errorf("decode record: %w", err)
	}
	return r, nil
}

// records reads all rows of a query for JSON.
func records(ctx context.Context, q querier, query string, args ...any) (_ []record.Record, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []record.Record
	for rows.Next() {
		var blob []byte
		if err := rows.Scan(&blob); err != nil {
			return nil, err
		}
		r, err := decode(blob)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// bound cuts what came from outside to a size that can be kept and shown.
func bound(r *record.Record) error {
	if len(r.Text) > maxText {
		if r.Outcome == record.Held {
			return fmt.Errorf("text of %d bytes is longer than the store takes (%d)", len(r.Text), maxText)
		}
		r.Text = cut(r.Text, maxText)
	}
	r.SourceText = cut(r.SourceText, maxText)
	r.Detail, r.Evidence = cut(r.Detail, maxDetail), cut(r.Evidence, maxNote)
	for _, key := range []string{r.ID, r.Connection, r.Turn} {
		if len(key) > maxWord {
			return fmt.Errorf("an id or name of %d bytes is longer than the store takes (%d)", len(key), maxWord)
		}
	}
	for _, word := range []*string{&r.From, &r.To, &r.Trigger, &r.Transform, &r.Dispatch, &r.By, &r.Pane} {
		*word = cut(*word, maxWord)
	}
	r.Hops = slices.Clone(r.Hops[max(0, len(r.Hops)-maxHops):])
	r.Steps = boundSteps(r.Steps)
	return nil
}

// boundSteps drops the oldest hold steps first, because they say the least, and then the oldest others.
func boundSteps(steps []record.Step) []record.Step {
	tooMany := len(steps) - record.MaxSteps
	out := make([]record.Step, 0, len(steps))
	for _, s := range steps {
		if tooMany > 0 && s.Name == string(record.Held) {
			tooMany--
			continue
		}
		s.Note, s.Name = cut(s.Note, maxNote), cut(s.Name, maxNote)
		out = append(out, s)
	}
	if tooMany > 0 {
		out = out[tooMany:]
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// cut shortens a text to n bytes at most, between characters, and says so.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[:n-len(cutMark)]
	for len(text) > 0 {
		if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size > 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return text + cutMark
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
