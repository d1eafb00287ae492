package file

import (
	"errors"
	"fmt"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrFull says that the disk takes no more (full, over quota, read-only, broken): nothing was written.
var ErrFull = errors.New("the state can't be written to disk")

var errCorrupt = errors.New("the database is corrupt")

// Typed says what was being done and which class of errors an error of SQLite is in.
func Typed(what string, err error) error {
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
