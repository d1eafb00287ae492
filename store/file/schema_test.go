package file

import (
	"path/filepath"
	"testing"
	"time"
)

// A database of the first format keeps what stands in it.
func TestOlderDatabaseIsBroughtUpToDate(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "madohub.db")
	old, err := connect(path, 1, "", "auto_vacuum(incremental)", "journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	_, err = old.ExecContext(ctx, migrations[0]+`PRAGMA user_version = 1; UPDATE meta SET value = 7;
		INSERT INTO records VALUES (3, 'r_1', 7, 1, 1, 'c', 'a', 'b', 'trigger', 'held', 'target_busy', 't', x'00');
		INSERT INTO bodies VALUES (3, '{}');
		INSERT INTO queue VALUES (5, 'r_1', 'b', 'c', 9, 0, 3, 0)`)
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := Open(ctx, path, Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pool := range []interface{ Close() error }{db.Read, db.Write} {
			if err := pool.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	if db.Seq != 7 || db.Corrupt != "" {
		t.Errorf("seq %d, corrupt %q", db.Seq, db.Corrupt)
	}
	var version, ord int
	var body string
	err = db.Read.QueryRowContext(ctx, "SELECT q.ord, b.json FROM queue q JOIN records r ON r.id = q.id JOIN bodies b ON b.ord = r.ord").Scan(&ord, &body)
	if err != nil || ord != 5 || body != "{}" {
		t.Errorf("queue: %d %q, %v", ord, body, err)
	}
	if err := db.Read.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil || version != len(migrations) {
		t.Errorf("format %d, want %d (%v)", version, len(migrations), err)
	}
}
