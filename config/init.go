package config

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Starter is the configuration that Init writes: it loads, watches nothing, and shows in comments what can be said.
//
//go:embed starter.yaml
var Starter []byte

// Init writes the starter configuration. It never replaces a file: the error is then fs.ErrExist. The directory is
// created 0700 and the file 0600. The text is synced to a temporary file that is then linked to its name, so a crash
// leaves either no file or a whole one.
func Init(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create configuration directory: %w", err)
	}
	t, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithPermissions(0o600), renameio.IgnoreUmask())
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	defer t.Cleanup() //nolint:errcheck // the temporary file is of no more use
	if _, err := t.Write(Starter); err != nil {
		return fmt.Errorf("write configuration %s: %w", path, err)
	}
	if err := t.Sync(); err != nil {
		return fmt.Errorf("write configuration %s: %w", path, err)
	}
	if err := os.Link(t.Name(), path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("write configuration %s: %w, and is left as it is", path, fs.ErrExist)
		}
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}
