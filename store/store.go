// Package store is the only writer of state: one SQLite file with the routing log, the queue, the intents and the loop
// counters. Every writing method is one transaction. It is on disk when the method returns without an error (WAL with
// synchronous=FULL: an fsync at every commit), and it did not happen if the method returns one.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/madohub/madohub/record"
	"github.com/madohub/madohub/store/file"
)

// Options change how a store is opened. The zero value is right for the daemon.
type Options struct {
	Now func() time.Time // nil: time.Now

	unsafe bool // without fsync, for tests of what is not durability
}

// Store is an open database. Its methods may be called from several goroutines.
type Store struct {
	now     func() time.Time
	corrupt string // fixed at open

	turn  chan struct{} // holds one token: who has it may write
	write *sql.DB       // one connection, used by the holder of turn
	read  *sql.DB       // several connections that can't write

	changes changes // has its own mutex
}

// Open opens the database at path, creates it if there is none, and brings an older one up to date. The folder is made
// 0700 and the file 0600. A corrupt database is moved aside and a new one is begun: Corrupt then says so. A database of a
// newer program is refused and not touched.
func Open(ctx context.Context, path string, opt Options) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	db, err := file.Open(ctx, path, file.Options{Now: opt.Now, Unsafe: opt.unsafe})
	if err != nil {
		return nil, err
	}
	s := &Store{corrupt: db.Corrupt, now: opt.Now, turn: make(chan struct{}, 1), write: db.Write, read: db.Read}
	s.changes.start(db.Seq)
	return s, nil
}

// PrivateFolder makes the folder of a database, as Open does: for what must be in it before the database is opened.
func PrivateFolder(dir string) error { return file.PrivateFolder(dir) }

// Corrupt is the path to which a corrupt database was moved when this one was opened; "" if none was. Rounds and queue of
// it are lost, so nothing should be typed until a person has seen that.
func (s *Store) Corrupt() string { return s.corrupt }

// Close waits for the transaction that is being written and closes the database.
func (s *Store) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.write == nil {
		return nil
	}
	// What stands in the write-ahead log goes into the file, so that a copy of the one file is a whole backup.
	_, checkpoint := s.write.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	err := errors.Join(s.read.Close(), s.write.Close())
	s.write = nil
	s.changes.wakeAll()
	if err == nil && checkpoint != nil {
		err = file.Typed("close database", checkpoint)
	}
	return err
}

// tx is a transaction; the records that it changed are told to followers once it is committed.
type tx struct {
	*sql.Tx
	now     time.Time
	changed []record.Record
}

// update runs fn in a transaction. ctx counts only until the transaction begins: what was begun is finished, so that a
// shutdown in the middle of typing can't lose the outcome.
func (s *Store) update(ctx context.Context, what string, fn func(context.Context, *tx) error) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if s.write == nil {
		return fmt.Errorf("%s: %w", what, sql.ErrConnDone)
	}
	ctx = context.WithoutCancel(ctx)
	raw, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return file.Typed(what, err)
	}
	t := &tx{Tx: raw, now: s.now()}
	if err := fn(ctx, t); err != nil {
		// After an error of the disk SQLite has rolled back by itself, and Rollback has nothing to add.
		_ = raw.Rollback()
		return file.Typed(what, err)
	}
	if err := raw.Commit(); err != nil {
		_ = raw.Rollback()
		return file.Typed(what, err)
	}
	s.changes.add(t.changed)
	return nil
}
