// Package store is the only writer of state: one SQLite file with the routing log, the queue, the intents and the loop
// counters. Every writing method is one transaction. It is on disk when the method returns without an error (WAL with
// synchronous=FULL: an fsync at every commit), and it did not happen if the method returns one.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite", without cgo

	"github.com/madohub/madohub/record"
)

const (
	busyTimeout = 5 * time.Second // for another program (sqlite3, a backup) that holds the file for a moment
	readers     = 4               // connections for reading; in WAL mode they never wait for the writer
)

// Options change how a store is opened. The zero value is right for the daemon.
type Options struct {
	Now func() time.Time // nil: time.Now

	unsafe bool // without fsync, for tests of what is not durability
}

// Store is an open database. Its methods may be called from several goroutines.
type Store struct {
	path    string
	unsafe  bool
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
	if err := private(path); err != nil {
		return nil, err
	}
	s := &Store{path: path, unsafe: opt.unsafe, now: opt.Now, turn: make(chan struct{}, 1)}
	if s.now == nil {
		s.now = time.Now
	}
	err = s.open(ctx)
	if errors.Is(err, errCorrupt) {
		if s.corrupt, err = moveAside(path, s.now()); err == nil {
			err = errors.Join(private(path), s.open(ctx))
		}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

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
		err = typed("close database", checkpoint)
	}
	return err
}

func (s *Store) open(ctx context.Context) (err error) {
	if err := s.usable(ctx); err != nil {
		return err
	}
	sync := "synchronous(FULL)"
	if s.unsafe {
		sync = "synchronous(OFF)"
	}
	s.write, err = connect(s.path, 1, "", "foreign_keys(1)", "auto_vacuum(incremental)", "journal_mode(WAL)", sync, "journal_size_limit(16777216)")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.write.Close())
		}
	}()
	if err := migrate(ctx, s.write); err != nil {
		return err
	}
	var seq int64
	if err := s.write.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'seq'").Scan(&seq); err != nil {
		return typed("read "+s.path, err)
	}
	s.changes.start(seq)
	s.read, err = connect(s.path, readers, "", "query_only(1)")
	return err
}

// connect opens a pool. Its connections are made when they are needed, so errors of the file show up later.
func connect(path string, conns int, mode string, pragmas ...string) (*sql.DB, error) {
	values := url.Values{"_txlock": {"immediate"}}
	values.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()))
	for _, p := range pragmas {
		values.Add("_pragma", p)
	}
	if mode != "" {
		values.Set("mode", mode)
	}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: values.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// usable checks, without a chance to write, that the file is a whole database of a format that we know. quick_check reads
// every page but leaves out the comparison of indexes with tables, which would take minutes on a big log.
func (s *Store) usable(ctx context.Context) (err error) {
	db, err := connect(s.path, 1, "ro")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return typed("read the format of "+s.path, err)
	}
	if version > len(migrations) {
		return fmt.Errorf("%s has format %d and this program knows formats up to %d: it was written by a newer madohub; "+
			"update this one, or give it another --state-dir", s.path, version, len(migrations))
	}
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return typed("check "+s.path, err)
	}
	if verdict != "ok" {
		return fmt.Errorf("check %s: %w: %s", s.path, errCorrupt, verdict)
	}
	return nil
}

// private makes folder and file and sees to it that nobody else can read or replace them.
func private(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make state directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at state directory: %w", err)
	}
	if err := owned(dir, info); err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("state directory %s may be written by others (mode %04o): chmod 700 it, or choose another", dir, info.Mode().Perm())
	}
	if info.Mode().Perm() != 0o700 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("make state directory private: %w", err)
		}
	}
	return privateFile(path)
}

// privateFile is called before SQLite sees the file: SQLite gives its side files (-wal, -shm) the mode of the database.
func privateFile(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("make database: %w", errors.Join(full(err), err))
		}
		return f.Close()
	case err != nil:
		return fmt.Errorf("look at database: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("database %s is not a regular file (%s): not touched", path, info.Mode().Type())
	}
	if err := owned(path, info); err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(path, 0o600); err != nil {
			return fmt.Errorf("make database private: %w", err)
		}
	}
	return nil
}

// moveAside renames a corrupt database with its side files, for a person to look at.
func moveAside(path string, now time.Time) (string, error) {
	to := path + ".corrupt-" + now.UTC().Format("20060102T150405.000000000")
	for _, side := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(path+side, to+side); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("move corrupt database aside: %w", err)
		}
	}
	return to, nil
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
		return typed(what, err)
	}
	t := &tx{Tx: raw, now: s.now()}
	if err := fn(ctx, t); err != nil {
		// After an error of the disk SQLite has rolled back by itself, and Rollback has nothing to add.
		_ = raw.Rollback()
		return typed(what, err)
	}
	if err := raw.Commit(); err != nil {
		_ = raw.Rollback()
		return typed(what, err)
	}
	s.changes.add(t.changed)
	return nil
}
