package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/store/file"
)

// Intend writes the intent of a delivery and counts its round, before the first key. It fails if the item no longer waits:
// of a cancellation and an intent exactly one wins. rec.Round becomes the number of this delivery.
func (s *Store) Intend(ctx context.Context, rec *record.Record, in record.Intent) error {
	return s.change(ctx, "intend", rec, func(ctx context.Context, t *tx, r *record.Record) error {
		if in.ID != r.ID {
			return fmt.Errorf("the intent is of %q", in.ID)
		}
		begun, approval, err := t.begun(ctx, r.ID)
		if err != nil {
			return err
		}
		if begun || approval {
			return fmt.Errorf("%w: begun %t, needs approval %t", ErrConflict, begun, approval)
		}
		var target string
		if err := t.QueryRowContext(ctx, "UPDATE queue SET begun = 1 WHERE id = ? RETURNING target", r.ID).Scan(&target); err != nil {
			return err
		}
		arm, at, before, err := t.count(ctx, r)
		if err != nil {
			return err
		}
		_, err = t.ExecContext(ctx, `INSERT INTO intents (id, attempt, server, socket, pane, pane_pid, prev, lines, line, stage, mark,
			arm, at, last_delivery) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			in.ID, in.Attempt, in.Server, in.Socket, in.Pane, in.PanePID, in.Prev, in.Lines, in.Line, in.Stage, in.Mark, arm, at, before)
		if err != nil {
			return err
		}
		if err := t.ours(ctx, target, r.Text, r.ID); err != nil {
			return err
		}
		return t.save(ctx, r)
	})
}

// count counts a round and returns what a refund needs. Time of the last delivery never goes back, so that a clock that
// does can't shorten a cooldown.
func (t *tx) count(ctx context.Context, r *record.Record) (arm, at, before int64, err error) {
	if r.Connection == "" {
		return 0, 0, 0, nil
	}
	if _, err := t.ExecContext(ctx, "INSERT OR IGNORE INTO counters (connection) VALUES (?)", r.Connection); err != nil {
		return 0, 0, 0, err
	}
	if err := t.QueryRowContext(ctx, "SELECT last_delivery FROM counters WHERE connection = ?", r.Connection).Scan(&before); err != nil {
		return 0, 0, 0, err
	}
	err = t.QueryRowContext(ctx, `UPDATE counters SET round = round + 1, last_delivery = max(last_delivery, ?), last_id = ?
		WHERE connection = ? RETURNING round, arm, last_delivery`, nanos(t.now), r.ID, r.Connection).Scan(&r.Round, &arm, &at)
	return arm, at, before, err
}

// Advance notes how far an intent has come.
func (s *Store) Advance(ctx context.Context, in record.Intent) error {
	return s.update(ctx, "advance "+in.ID, func(ctx context.Context, t *tx) error {
		res, err := t.ExecContext(ctx, `UPDATE intents SET attempt = ?, server = ?, socket = ?, pane = ?, pane_pid = ?, prev = ?,
			lines = ?, line = ?, stage = ?, mark = ? WHERE id = ?`,
			in.Attempt, in.Server, in.Socket, in.Pane, in.PanePID, in.Prev, in.Lines, in.Line, in.Stage, in.Mark, in.ID)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n != 1 {
			return errors.Join(err, fmt.Errorf("%w: it has no intent", ErrConflict))
		}
		return nil
	})
}

// Finish writes the end of an item and removes its queue row and intent. With refund the round that its intent counted is
// given back, because provably no key was sent; not if the connection was re-armed since. It fails if the item no longer
// waits, so that it can't write over a cancellation.
func (s *Store) Finish(ctx context.Context, rec *record.Record, refund bool) error {
	return s.change(ctx, "finish", rec, func(ctx context.Context, t *tx, r *record.Record) error {
		if !r.Outcome.Final() {
			return fmt.Errorf("outcome %q ends nothing", r.Outcome)
		}
		if _, _, err := t.begun(ctx, r.ID); err != nil {
			return err
		}
		began, err := t.dropIntent(ctx, r, refund)
		if err != nil {
			return err
		}
		var target string
		if err := t.QueryRowContext(ctx, "DELETE FROM queue WHERE id = ? RETURNING target", r.ID).Scan(&target); err != nil {
			return err
		}
		if began && !refund { // cleaning may have changed the text since the intent
			if err := t.ours(ctx, target, r.Text, r.ID); err != nil {
				return err
			}
		}
		return t.save(ctx, r)
	})
}

// Requeue takes an intent back and leaves the item waiting, as if it had not been begun: provably no key was sent.
func (s *Store) Requeue(ctx context.Context, rec *record.Record) error {
	return s.change(ctx, "requeue", rec, func(ctx context.Context, t *tx, r *record.Record) error {
		if r.Outcome.Final() {
			return fmt.Errorf("an item can't wait with outcome %q", r.Outcome)
		}
		if _, _, err := t.begun(ctx, r.ID); err != nil {
			return err
		}
		began, err := t.dropIntent(ctx, r, true)
		if err != nil {
			return err
		}
		if !began {
			return fmt.Errorf("%w: it has no intent", ErrConflict)
		}
		if _, err := t.ExecContext(ctx, "UPDATE queue SET begun = 0 WHERE id = ?", r.ID); err != nil {
			return err
		}
		return t.save(ctx, r)
	})
}

// dropIntent removes an intent, if there is one, and with refund takes back what it counted.
func (t *tx) dropIntent(ctx context.Context, r *record.Record, refund bool) (bool, error) {
	var arm, at, before int64
	err := t.QueryRowContext(ctx, "DELETE FROM intents WHERE id = ? RETURNING arm, at, last_delivery", r.ID).Scan(&arm, &at, &before)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil || !refund {
		return true, err
	}
	if _, err := t.ExecContext(ctx, "DELETE FROM typed WHERE id = ?", r.ID); err != nil {
		return true, err
	}
	_, err = t.ExecContext(ctx, `UPDATE counters SET round = CASE WHEN arm = ?2 THEN max(0, round - 1) ELSE round END,
		last_delivery = CASE last_delivery WHEN ?3 THEN ?4 ELSE last_delivery END WHERE connection = ?1`, r.Connection, arm, at, before)
	return true, err
}

// Intents lists what a crash left unfinished, with the items they belong to, oldest first.
func (s *Store) Intents(ctx context.Context) (_ []record.Unfinished, err error) {
	rows, err := s.read.QueryContext(ctx, "SELECT "+itemColumns+`, i.attempt, i.server, i.socket, i.pane, i.pane_pid, i.prev,
		i.lines, i.line, i.stage, i.mark `+itemTables+" JOIN intents i ON i.id = q.id ORDER BY q.ord")
	if err != nil {
		return nil, file.Typed("read intents", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []record.Unfinished
	for rows.Next() {
		var in record.Intent
		it, err := scanItem(rows.Scan, &in.Attempt, &in.Server, &in.Socket, &in.Pane, &in.PanePID, &in.Prev, &in.Lines, &in.Line, &in.Stage, &in.Mark)
		if err != nil {
			return nil, file.Typed("read intents", err)
		}
		in.ID = it.Record.ID
		out = append(out, record.Unfinished{Item: it, Intent: in})
	}
	return out, rows.Err()
}
