package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/store/file"
)

const (
	defaultN   = 20
	maxN       = 10000
	pageSize   = 256 // records that a follower reads at once
	pruneBatch = 200 // records that go in one transaction: it takes milliseconds, so nobody waits for it
	keepTurns  = 30 * 24 * time.Hour
)

// Query selects records. Empty fields select all.
type Query struct {
	N          int    // the newest n, 0: 20; with After the first n, 0: as many as there are, at most 10,000
	Connection string // or a flow: all its connections
	Agent      string // from or to
	Outcome    record.Outcome
	Since      time.Time
	After      int64 // only changes with a higher seq
}

// selects reports whether a record is one that the query asks for, but for N and After.
func (q Query) selects(r record.Record) bool {
	return (q.Connection == "" || r.Connection == q.Connection || strings.HasPrefix(r.Connection, q.Connection+"/")) && (q.Agent == "" || r.From == q.Agent || r.To == q.Agent) &&
		(q.Outcome == "" || r.Outcome == q.Outcome) && (q.Since.IsZero() || !r.Time.Before(q.Since))
}

// Log lists records: the newest n in the order of their decisions, or, with After, the records that changed since in the
// order of their last change.
func (s *Store) Log(ctx context.Context, q Query) ([]record.Record, error) {
	var recs []record.Record
	var err error
	if q.After > 0 {
		recs, err = s.changed(ctx, q)
	} else {
		recs, err = s.newest(ctx, q)
	}
	if err != nil {
		return nil, file.Typed("read the log", err)
	}
	return recs, nil
}

func (s *Store) changed(ctx context.Context, q Query) ([]record.Record, error) {
	where, args := q.where()
	where = append(where, "r.seq > ?")
	args = append(args, q.After)
	if q.Agent != "" {
		where = append(where, "(r.from_agent = ? OR r.to_agent = ?)")
		args = append(args, q.Agent, q.Agent)
	}
	n := q.N
	if n <= 0 || n > maxN {
		n = maxN
	}
	return records(ctx, s.read, "SELECT b.json FROM records r JOIN bodies b ON b.ord = r.ord WHERE "+
		strings.Join(where, " AND ")+" ORDER BY r.seq LIMIT ?", append(args, n)...)
}

// newest asks for the two ends of a connection apart: one query with OR would sort every record of the agent.
func (s *Store) newest(ctx context.Context, q Query) ([]record.Record, error) {
	n := q.N
	if n <= 0 {
		n = defaultN
	}
	n = min(n, maxN)
	ends := []string{""}
	if q.Agent != "" {
		ends = []string{"r.from_agent = ?", "r.to_agent = ?"}
	}
	var selects []string
	var args []any
	for _, end := range ends {
		where, values := q.where()
		if end != "" {
			where, values = append(where, end), append(values, q.Agent)
		}
		clause := ""
		if len(where) > 0 {
			clause = " WHERE " + strings.Join(where, " AND ")
		}
		selects = append(selects, "SELECT * FROM (SELECT r.ord AS ord FROM records r"+clause+" ORDER BY r.ord DESC LIMIT ?)")
		args = append(append(args, values...), n)
	}
	recs, err := records(ctx, s.read, "SELECT b.json FROM ("+strings.Join(selects, " UNION ")+") p JOIN bodies b ON b.ord = p.ord ORDER BY p.ord DESC LIMIT ?",
		append(args, n)...)
	slices.Reverse(recs)
	return recs, err
}

func (q Query) where() (where []string, args []any) {
	add := func(clause string, values ...any) {
		where, args = append(where, clause), append(args, values...)
	}
	if q.Connection != "" {
		// "0" is what follows "/": every name that begins with the flow's and a slash
		add("(r.connection = ? OR (r.connection > ? AND r.connection < ?))", q.Connection, q.Connection+"/", q.Connection+"0")
	}
	if q.Outcome != "" {
		add("r.outcome = ?", q.Outcome)
	}
	if !q.Since.IsZero() {
		add("r.time >= ?", nanos(q.Since))
	}
	return where, args
}

// Record reads one record by its whole id; ErrNotFound if there is none.
func (s *Store) Record(ctx context.Context, id string) (record.Record, error) {
	rec, err := load(ctx, s.read, id)
	if err != nil {
		return rec, file.Typed("read record "+id, err)
	}
	return rec, nil
}

// Find reads one record by what a person would write: its id, the beginning of it that no other record has (with or
// without "r_"), or "last".
func (s *Store) Find(ctx context.Context, id string) (record.Record, error) {
	if id == "last" {
		err := s.read.QueryRowContext(ctx, "SELECT id FROM records ORDER BY ord DESC LIMIT 1").Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return record.Record{}, fmt.Errorf("the log is empty: %w", ErrNotFound)
		}
		if err != nil {
			return record.Record{}, file.Typed("read the newest record", err)
		}
	}
	rec, err := s.Record(ctx, id)
	if !errors.Is(err, ErrNotFound) || id == "" {
		return rec, err
	}
	for _, prefix := range []string{id, "r_" + strings.ToUpper(id)} {
		full, err := s.complete(ctx, prefix)
		if err != nil {
			return record.Record{}, err
		}
		if full != "" {
			return s.Record(ctx, full)
		}
	}
	return rec, err
}

// complete is the one id that begins with prefix, "" if there is none, an error if there are more.
func (s *Store) complete(ctx context.Context, prefix string) (_ string, err error) {
	// A range and not LIKE: it uses the index, and nothing in the prefix has a meaning of its own.
	rows, err := s.read.QueryContext(ctx, "SELECT id FROM records WHERE id >= ? AND id < ? ORDER BY id LIMIT 3", prefix, prefix+"\U0010FFFF")
	if err != nil {
		return "", file.Typed("look for record "+prefix, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return "", file.Typed("look for record "+prefix, err)
		}
		ids = append(ids, id)
	}
	if len(ids) > 1 {
		return "", fmt.Errorf("%q begins the ids of several records (%s …): %w", prefix, strings.Join(ids, ", "), ErrNotFound)
	}
	return strings.Join(ids, ""), rows.Err()
}

// Prune removes final records that did not change for longer than keep, a few in each transaction. What fired is
// remembered for 30 days at least: a turn that turns up again must not fire again because the log is kept short.
func (s *Store) Prune(ctx context.Context, keep time.Duration, now time.Time) error {
	for {
		n, err := s.pruneBatch(ctx, now.Add(-keep), now.Add(-max(keep, keepTurns)))
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	return s.update(ctx, "prune the log", func(ctx context.Context, t *tx) error {
		_, err := t.ExecContext(ctx, "PRAGMA incremental_vacuum(1000)")
		return err
	})
}

func (s *Store) pruneBatch(ctx context.Context, records, turns time.Time) (removed int64, err error) {
	err = s.update(ctx, "prune the log", func(ctx context.Context, t *tx) error {
		for _, step := range []struct {
			query  string
			before time.Time
		}{
			{"DELETE FROM records WHERE ord IN (SELECT ord FROM records WHERE updated < ? AND outcome <> 'held' LIMIT ?)", records},
			{"DELETE FROM typed WHERE (agent, hash, id) IN (SELECT agent, hash, id FROM typed WHERE time < ? AND id NOT IN (SELECT id FROM queue) LIMIT ?)", records},
			{"DELETE FROM turns WHERE (connection, turn) IN (SELECT connection, turn FROM turns WHERE time < ? LIMIT ?)", turns},
		} {
			res, err := t.ExecContext(ctx, step.query, nanos(step.before), pruneBatch)
			if err != nil {
				return err
			}
			n, err := res.RowsAffected()
			if err != nil {
				return err
			}
			removed += n
		}
		return nil
	})
	return removed, err
}
