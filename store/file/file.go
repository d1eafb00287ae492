// Package file opens the one SQLite file of the store: private to its user, of a format that this program knows, brought up
// to date, and moved aside if it is corrupt.
package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite", without cgo
)

const (
	busyTimeout = 5 * time.Second // for another program (sqlite3, a backup) that holds the file for a moment
	readers     = 4               // connections for reading; in WAL mode they never wait for the writer
)

// Options say how a file is opened.
type Options struct {
	Now    func() time.Time
	Unsafe bool // without fsync, for tests of what is not durability
}

// DB is an open file.
type DB struct {
	Write   *sql.DB // one connection
	Read    *sql.DB // several connections that can't write
	Seq     int64   // of the newest change
	Corrupt string  // where a corrupt file was moved, "" if the file was whole
}

// Open opens the database at path, creates it if there is none, and brings an older one up to date. The folder is made
// 0700 and the file 0600. A corrupt database is moved aside and a new one is begun. A database of a newer program is
// refused and not touched.
func Open(ctx context.Context, path string, opt Options) (*DB, error) {
	if err := private(path); err != nil {
		return nil, err
	}
	db, err := open(ctx, path, opt.Unsafe)
	if !errors.Is(err, errCorrupt) {
		return db, err
	}
	aside, err := moveAside(path, opt.Now())
	if err != nil {
		return nil, err
	}
	if err := private(path); err != nil {
		return nil, err
	}
	if db, err = open(ctx, path, opt.Unsafe); err != nil {
		return nil, err
	}
	db.Corrupt = aside
	return db, nil
}

func open(ctx context.Context, path string, unsafe bool) (_ *DB, err error) {
	if err := usable(ctx, path); err != nil {
		return nil, err
	}
	sync := "synchronous(FULL)"
	if unsafe {
		sync = "synchronous(OFF)"
	}
	var db DB
	db.Write, err = connect(path, 1, "", "foreign_keys(1)", "auto_vacuum(incremental)", "journal_mode(WAL)", sync, "journal_size_limit(16777216)")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Write.Close())
		}
	}()
	if err := migrate(ctx, db.Write); err != nil {
		return nil, err
	}
	if err := db.Write.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'seq'").Scan(&db.Seq); err != nil {
		return nil, Typed("read "+path, err)
	}
	if db.Read, err = connect(path, readers, "", "query_only(1)"); err != nil {
		return nil, err
	}
	return &db, nil
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
func usable(ctx context.Context, path string) (err error) {
	db, err := connect(path, 1, "ro")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return Typed("read the format of "+path, err)
	}
	if version > len(migrations) {
		return fmt.Errorf("%s has format %d and this program knows formats up to %d: it was written by a newer madohub; "+
			"update this one, or give it another --state-dir", path, version, len(migrations))
	}
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return Typed("check "+path, err)
	}
	if verdict != "ok" {
		return fmt.Errorf("check %s: %w: %s", path, errCorrupt, verdict)
	}
	return nil
}
