package store

import (
	"errors"

	"github.com/madohub/madohub/store/file"
)

// Errors that callers tell apart.
var (
	// ErrFull says that the disk takes no more (full, over quota, read-only, broken): nothing was written, so nothing may be typed.
	ErrFull = file.ErrFull
	// ErrNotFound says that there is no such record.
	ErrNotFound = errors.New("no such record")
	// ErrConflict says that the record or request is no longer as the caller thinks: nothing was written.
	ErrConflict = errors.New("not possible any more")
)
