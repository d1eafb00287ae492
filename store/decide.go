package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/store/file"
)

// Decide writes a decision, its queue row (if there is an item), and what it changes of counters, in one transaction. It
// returns false and writes nothing if this connection already decided this turn, or if the operation was already asked for.
//
// Only a trigger is bound to "once a turn": a person may fire the same turn again by hand, but a turn that was fired by hand
// is not fired by its trigger too. A record of the shadow decider stands beside the one that counts.
func (s *Store) Decide(ctx context.Context, d record.Decided) (bool, error) {
	if d.Record == nil {
		return false, errors.New("decide: no record")
	}
	if d.Item != nil && d.Record.Outcome != record.Held {
		return false, fmt.Errorf("decide %s: an item can't wait with outcome %q", d.Record.ID, d.Record.Outcome)
	}
	rec, item, fresh := *d.Record, d.Item, false
	err := s.update(ctx, "decide "+rec.ID, func(ctx context.Context, t *tx) error {
		if earlier, found, err := t.earlier(ctx, d); err != nil || found {
			rec = earlier
			return err
		}
		ok, err := t.claimTurn(ctx, rec)
		if err != nil || !ok {
			return err
		}
		fresh = true
		return t.decide(ctx, &rec, d)
	})
	if err != nil {
		return false, err
	}
	if fresh || rec.ID != d.Record.ID {
		*d.Record = rec
	}
	if fresh && item != nil {
		item.Record = rec
	}
	return fresh, nil
}

func (t *tx) decide(ctx context.Context, rec *record.Record, d record.Decided) error {
	if d.Replace != "" {
		if err := t.supersede(ctx, d.Replace, rec.ID); err != nil {
			return err
		}
	}
	if err := t.insert(ctx, rec); err != nil {
		return err
	}
	if d.Operation != "" {
		_, err := t.ExecContext(ctx, "INSERT INTO operations (by, operation, id, hash) VALUES (?, ?, ?, ?)",
			rec.By, d.Operation, rec.ID, pair(d.Record.To, asked(d.Record)))
		if err != nil {
			return err
		}
	}
	if d.Item != nil {
		if err := t.enqueue(ctx, rec, d.Item); err != nil {
			return err
		}
	}
	if rec.Connection != "" && rec.Reason != record.Shadow {
		_, err := t.ExecContext(ctx, `INSERT INTO counters (connection, last_id, last_turn) VALUES (?1, ?2, ?3)
			ON CONFLICT (connection) DO UPDATE SET last_id = ?2, last_turn = CASE ?3 WHEN '' THEN last_turn ELSE ?3 END`,
			rec.Connection, rec.ID, d.Turn)
		if err != nil {
			return err
		}
	}
	for connection, by := range d.Disable {
		if by == "" {
			continue
		}
		// A connection that is off already keeps its reason: what a person paused is not re-armed by a new prompt (G3b).
		_, err := t.ExecContext(ctx, `INSERT INTO counters (connection, disabled_by) VALUES (?1, ?2)
			ON CONFLICT (connection) DO UPDATE SET disabled_by = CASE disabled_by WHEN '' THEN ?2 ELSE disabled_by END`, connection, by)
		if err != nil {
			return err
		}
	}
	return nil
}

// claimTurn reports whether a turn may still be decided, and takes it.
func (t *tx) claimTurn(ctx context.Context, rec record.Record) (bool, error) {
	if rec.Connection == "" || rec.Turn == "" || rec.Reason == record.Shadow {
		return true, nil
	}
	res, err := t.ExecContext(ctx, "INSERT OR IGNORE INTO turns (connection, turn, time) VALUES (?, ?, ?)", rec.Connection, rec.Turn, nanos(t.now))
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1 || rec.Origin != record.OriginTrigger, err
}

// earlier finds the record of an operation that was already asked for.
func (t *tx) earlier(ctx context.Context, d record.Decided) (record.Record, bool, error) {
	if d.Operation == "" {
		return *d.Record, false, nil
	}
	rec, found, err := operation(ctx, t, d.Record.By, d.Operation, d.Record.To, asked(d.Record))
	if err != nil || !found {
		return *d.Record, false, err
	}
	return rec, true, nil
}

// operation finds the record of a request by the id that its asker gave it; ErrConflict if that was for something else.
func operation(ctx context.Context, q querier, by, op, to, text string) (record.Record, bool, error) {
	if len(op) > maxWord {
		return record.Record{}, false, fmt.Errorf("an operation id of %d bytes is longer than the store takes (%d)", len(op), maxWord)
	}
	var id string
	var hash []byte
	err := q.QueryRowContext(ctx, "SELECT id, hash FROM operations WHERE by = ? AND operation = ?", by, op).Scan(&id, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return record.Record{}, false, nil
	}
	if err != nil {
		return record.Record{}, false, err
	}
	if !bytes.Equal(hash, pair(to, text)) {
		return record.Record{}, false, fmt.Errorf("%w: operation %q was already used for another text or target (%s)", ErrConflict, op, id)
	}
	rec, err := load(ctx, q, id)
	return rec, err == nil, err
}

// asked is the text as the asker gave it: what is typed may have an envelope.
func asked(r *record.Record) string { return cmp.Or(r.SourceText, r.Text) }

// supersede takes a waiting record out of the queue for a newer one. One that was begun is left alone: it is being typed.
func (t *tx) supersede(ctx context.Context, id, by string) error {
	n, err := t.dequeue(ctx, id)
	if err != nil || n == 0 {
		return err
	}
	old, err := load(ctx, t, id)
	if err != nil {
		return err
	}
	old.Outcome, old.Reason, old.Detail = record.Cancelled, record.Superseded, "a newer answer took its place: "+by
	return t.save(ctx, &old)
}

// Counters lists the counters of all connections that ever had one, by connection.
func (s *Store) Counters(ctx context.Context) (_ map[string]record.Counter, err error) {
	rows, err := s.read.QueryContext(ctx, "SELECT connection, round, disabled_by, last_delivery, last_turn, last_id FROM counters")
	if err != nil {
		return nil, file.Typed("read counters", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := map[string]record.Counter{}
	for rows.Next() {
		var c record.Counter
		var last int64
		if err := rows.Scan(&c.Connection, &c.Round, &c.DisabledBy, &last, &c.LastTurn, &c.LastID); err != nil {
			return nil, file.Typed("read counters", err)
		}
		c.LastDelivery = fromNanos(last)
		out[c.Connection] = c
	}
	return out, rows.Err()
}

// SetCounter writes one counter: pause, resume, rearm (round 0), base line. A delivery may be counted between the reading
// and the writing of a counter, so Round counts only when it is 0, which starts it again, and LastDelivery only for a
// connection that had no counter.
func (s *Store) SetCounter(ctx context.Context, c record.Counter) error {
	return s.update(ctx, "set counter of "+c.Connection, func(ctx context.Context, t *tx) error {
		_, err := t.ExecContext(ctx, `INSERT INTO counters (connection, round, disabled_by, last_delivery, last_turn, last_id)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (connection) DO UPDATE SET
				arm = arm + (?2 = 0 AND round > 0), round = CASE ?2 WHEN 0 THEN 0 ELSE round END,
				disabled_by = ?3, last_turn = ?5, last_id = CASE ?6 WHEN '' THEN last_id ELSE ?6 END`,
			c.Connection, c.Round, c.DisabledBy, nanos(c.LastDelivery), c.LastTurn, c.LastID)
		return err
	})
}
