package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/store/file"
)

// The columns of an item, which scanItem reads, and the tables that they are in.
const (
	itemColumns = "b.json, q.target, q.expires, q.approval, q.ord"
	itemTables  = "FROM queue q JOIN records r ON r.id = q.id JOIN bodies b ON b.ord = r.ord"
)

func scanItem(scan func(...any) error, more ...any) (record.Item, error) {
	var it record.Item
	var blob []byte
	var expires int64
	if err := scan(append([]any{&blob, &it.Target, &expires, &it.Approval, &it.Order}, more...)...); err != nil {
		return it, err
	}
	it.Expires = fromNanos(expires)
	rec, err := decode(blob)
	it.Record = rec
	return it, err
}

func (t *tx) enqueue(ctx context.Context, rec *record.Record, it *record.Item) error {
	res, err := t.ExecContext(ctx, "INSERT INTO queue (id, target, connection, expires, approval) VALUES (?, ?, ?, ?, ?)",
		rec.ID, it.Target, rec.Connection, nanos(it.Expires), it.Approval)
	if err != nil {
		return err
	}
	it.Order, err = res.LastInsertId()
	return err
}

// dequeue removes the row of an item that was not begun, and says how many there were.
func (t *tx) dequeue(ctx context.Context, id string) (int64, error) {
	res, err := t.ExecContext(ctx, "DELETE FROM queue WHERE id = ? AND begun = 0", id)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// begun reports whether an item is being typed; an error that says how the record ended if it no longer waits.
func (t *tx) begun(ctx context.Context, id string) (begun, approval bool, err error) {
	err = t.QueryRowContext(ctx, "SELECT begun, approval FROM queue WHERE id = ?", id).Scan(&begun, &approval)
	if !errors.Is(err, sql.ErrNoRows) {
		return begun, approval, err
	}
	rec, err := load(ctx, t, id)
	if err != nil {
		return false, false, err
	}
	return false, false, fmt.Errorf("%w: it no longer waits, it is %s %s", ErrConflict, rec.Outcome, rec.Reason)
}

// Queue lists the items of all targets that wait and were not begun, oldest first.
func (s *Store) Queue(ctx context.Context) (_ []record.Item, err error) {
	rows, err := s.read.QueryContext(ctx, "SELECT "+itemColumns+" "+itemTables+" WHERE q.begun = 0 ORDER BY q.ord")
	if err != nil {
		return nil, file.Typed("read the queue", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var out []record.Item
	for rows.Next() {
		it, err := scanItem(rows.Scan)
		if err != nil {
			return nil, file.Typed("read the queue", err)
		}
		out = append(out, it)
	}
	return out, rows.Err()
}

// Waiting is the newest item of a connection that waits and was not begun.
func (s *Store) Waiting(ctx context.Context, connection string) (record.Item, bool, error) {
	row := s.read.QueryRowContext(ctx, "SELECT "+itemColumns+" "+itemTables+" WHERE q.connection = ? AND q.begun = 0 ORDER BY q.ord DESC LIMIT 1", connection)
	it, err := scanItem(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return record.Item{}, false, nil
	}
	if err != nil {
		return record.Item{}, false, file.Typed("read the queue of "+connection, err)
	}
	return it, true, nil
}

// QueueLen counts the items that wait for a target, with the one that is being typed.
func (s *Store) QueueLen(ctx context.Context, target string) (int, error) {
	var n int
	if err := s.read.QueryRowContext(ctx, "SELECT count(*) FROM queue WHERE target = ?", target).Scan(&n); err != nil {
		return 0, file.Typed("count the queue of "+target, err)
	}
	return n, nil
}

// change runs fn on a copy of rec in a transaction; rec becomes the copy, with its new seq, only if that was committed.
func (s *Store) change(ctx context.Context, what string, rec *record.Record, fn func(context.Context, *tx, *record.Record) error) error {
	r := *rec
	err := s.update(ctx, what+" "+rec.ID, func(ctx context.Context, t *tx) error { return fn(ctx, t, &r) })
	if err == nil {
		*rec = r
	}
	return err
}

// Hold notes why an item waits. It writes only if outcome, reason or detail changed, and not over the end of a record that
// no longer waits.
func (s *Store) Hold(ctx context.Context, rec *record.Record) error {
	return s.change(ctx, "hold", rec, func(ctx context.Context, t *tx, r *record.Record) error {
		if _, _, err := t.begun(ctx, r.ID); err != nil {
			return err
		}
		now, err := load(ctx, t, r.ID)
		if err != nil {
			return err
		}
		if now.Outcome == r.Outcome && now.Reason == r.Reason && now.Detail == cut(r.Detail, maxDetail) {
			return nil
		}
		return t.save(ctx, r)
	})
}

// Cancel takes an item that was not begun out of the queue; an ErrConflict if it is being typed or no longer waits.
func (s *Store) Cancel(ctx context.Context, id string, reason record.Reason, detail string) (record.Record, error) {
	return s.end(ctx, "cancel", id, func(r *record.Record) {
		r.Outcome, r.Reason, r.Detail = record.Cancelled, reason, detail
	})
}

// end takes an item that was not begun out of the queue and saves its record as fn leaves it.
func (s *Store) end(ctx context.Context, what, id string, fn func(*record.Record)) (rec record.Record, err error) {
	err = s.update(ctx, what+" "+id, func(ctx context.Context, t *tx) error {
		begun, _, err := t.begun(ctx, id)
		if err != nil {
			return err
		}
		if begun {
			return fmt.Errorf("%w: it is being typed right now", ErrConflict)
		}
		if _, err := t.dequeue(ctx, id); err != nil {
			return err
		}
		if rec, err = load(ctx, t, id); err != nil {
			return err
		}
		fn(&rec)
		return t.save(ctx, &rec)
	})
	if err != nil {
		return record.Record{}, err
	}
	return rec, nil
}

// Approve lets an item go that needs approval, or ends it as blocked/denied. by is who said so.
func (s *Store) Approve(ctx context.Context, id string, yes bool, by string) error {
	if !yes {
		_, err := s.end(ctx, "deny", id, func(r *record.Record) {
			r.Outcome, r.Reason, r.Detail = record.Blocked, record.Denied, "denied by "+by
			r.Steps = append(r.Steps, record.Step{Time: s.now().UTC(), Name: "denied", Note: by})
		})
		return err
	}
	return s.update(ctx, "approve "+id, func(ctx context.Context, t *tx) error {
		_, waits, err := t.begun(ctx, id)
		if err != nil {
			return err
		}
		if !waits {
			return fmt.Errorf("%w: it needs no approval", ErrConflict)
		}
		if _, err := t.ExecContext(ctx, "UPDATE queue SET approval = 0 WHERE id = ?", id); err != nil {
			return err
		}
		rec, err := load(ctx, t, id)
		if err != nil {
			return err
		}
		rec.Reason, rec.Detail = "", "approved by "+by
		rec.Steps = append(rec.Steps, record.Step{Time: t.now.UTC(), Name: "approved", Note: by})
		return t.save(ctx, &rec)
	})
}

// Retry puts a record that a person settled back into the queue. The round that it counted stays counted.
func (s *Store) Retry(ctx context.Context, it record.Item) error {
	rec := it.Record
	return s.change(ctx, "retry", &rec, func(ctx context.Context, t *tx, r *record.Record) error {
		now, err := load(ctx, t, r.ID)
		if err != nil {
			return err
		}
		if now.Outcome == record.Held || now.Outcome == record.Delivered {
			return fmt.Errorf("%w: it is %s", ErrConflict, now.Outcome)
		}
		if r.Outcome != record.Held {
			return fmt.Errorf("an item can't wait with outcome %q", r.Outcome)
		}
		if err := t.save(ctx, r); err != nil {
			return err
		}
		return t.enqueue(ctx, r, &it)
	})
}

// Amend changes a final record: upwards to delivered when the proof comes late, or by a person's word.
func (s *Store) Amend(ctx context.Context, rec *record.Record) error {
	return s.change(ctx, "amend", rec, func(ctx context.Context, t *tx, r *record.Record) error {
		now, err := load(ctx, t, r.ID)
		if err != nil {
			return err
		}
		if !now.Outcome.Final() || !r.Outcome.Final() {
			return fmt.Errorf("%w: it is %s", ErrConflict, now.Outcome)
		}
		if now.Outcome == record.Delivered && r.Outcome != record.Delivered {
			return fmt.Errorf("%w: it was proved to be delivered meanwhile", ErrConflict)
		}
		return t.save(ctx, r)
	})
}
