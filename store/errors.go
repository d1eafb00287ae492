package store

import (
	"errors"
	"fmt"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/madohub/madohub/record"
)

// Errors that callers tell apart.
var (
	// ErrFull says that the disk takes no more (full, over quota, read-only, broken): nothing was written, so nothing may be typed.
	ErrFull = errors.New("the state can't be written to disk")
	// ErrNotFound says that there is no such record.
	ErrNotFound = errors.New("no such record")
	// ErrConflict says that the record or request is no longer as the caller thinks: nothing was written.
	ErrConflict = errors.New("conflict")
)

var errCorrupt = errors.New("the database is corrupt")

// Reason is the public word for an error of this package, "" if there is none.
func Reason(err error) record.Reason {
	if errors.Is(err, ErrFull) {
		return record.DiskFull
	}
	return ""
}

// typed says what was being done and which class of errors an error of SQLite is in.
func typed(what string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", what, err)
	}
	switch e.Code() & 0xff { // the low byte is the primary code
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("%s: %w: %w", what, ErrFull, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%s: %w: %w", what, errCorrupt, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// full is ErrFull if an error of the file system is of that class, else nil.
func full(err error) error {
	for _, code := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.EFBIG} {
		if errors.Is(err, code) {
			return ErrFull
		}
	}
	return nil
}
