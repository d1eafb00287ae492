package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// private makes folder and file and sees to it that nobody else can read or replace them.
func private(path string) error {
	if err := PrivateFolder(filepath.Dir(path)); err != nil {
		return err
	}
	return privateFile(path)
}

// PrivateFolder makes a folder 0700. One that is another user's, or that others may write, is refused and not touched.
func PrivateFolder(dir string) error {
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
	return nil
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
