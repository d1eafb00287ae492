package file

import (
	"context"
	"database/sql"
	"fmt"
)

// migrations bring a database from version i to i+1; PRAGMA user_version counts them. A line that was released never
// changes. Times are nanoseconds since 1970, 0 for none. Bodies stand apart from what is searched: a scan of records then
// reads 150 bytes a row and not the texts.
var migrations = []string{`
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('seq', 0);

CREATE TABLE records (
	ord INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order of the decisions
	id TEXT NOT NULL UNIQUE,
	seq INTEGER NOT NULL UNIQUE,
	time INTEGER NOT NULL,
	updated INTEGER NOT NULL,
	connection TEXT NOT NULL,
	from_agent TEXT NOT NULL,
	to_agent TEXT NOT NULL,
	origin TEXT NOT NULL,
	outcome TEXT NOT NULL,
	reason TEXT NOT NULL,
	turn TEXT NOT NULL,
	text_hash BLOB NOT NULL
);
CREATE INDEX records_connection ON records (connection, ord);
CREATE INDEX records_from ON records (from_agent, ord);
CREATE INDEX records_to ON records (to_agent, ord);
CREATE INDEX records_outcome ON records (outcome, ord);
CREATE INDEX records_updated ON records (updated);
CREATE TABLE bodies (ord INTEGER PRIMARY KEY REFERENCES records (ord) ON DELETE CASCADE, json BLOB NOT NULL);

CREATE TABLE queue (
	ord INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE REFERENCES records (id),
	target TEXT NOT NULL,
	connection TEXT NOT NULL,
	expires INTEGER NOT NULL,
	approval INTEGER NOT NULL,
	cooldown INTEGER NOT NULL,
	begun INTEGER NOT NULL DEFAULT 0 -- has an intent
);
CREATE INDEX queue_target ON queue (target);
CREATE INDEX queue_connection ON queue (connection);

CREATE TABLE intents (
	id TEXT PRIMARY KEY REFERENCES queue (id),
	attempt INTEGER NOT NULL,
	server TEXT NOT NULL,
	socket TEXT NOT NULL,
	pane TEXT NOT NULL,
	pane_pid INTEGER NOT NULL,
	prev TEXT NOT NULL,
	lines INTEGER NOT NULL,
	line INTEGER NOT NULL,
	stage TEXT NOT NULL,
	mark TEXT NOT NULL,
	arm INTEGER NOT NULL,          -- generation of the counter that counted this round
	at INTEGER NOT NULL,           -- what the counter's last_delivery was set to
	last_delivery INTEGER NOT NULL -- and what it was before
) WITHOUT ROWID;

CREATE TABLE counters (
	connection TEXT PRIMARY KEY,
	round INTEGER NOT NULL DEFAULT 0,
	disabled_by TEXT NOT NULL DEFAULT '',
	last_delivery INTEGER NOT NULL DEFAULT 0,
	last_turn TEXT NOT NULL DEFAULT '',
	last_id TEXT NOT NULL DEFAULT '',
	arm INTEGER NOT NULL DEFAULT 0 -- grows whenever the round starts again
) WITHOUT ROWID;

CREATE TABLE turns ( -- what fired: a turn fires a connection once
	connection TEXT NOT NULL,
	turn TEXT NOT NULL,
	time INTEGER NOT NULL,
	PRIMARY KEY (connection, turn)
) WITHOUT ROWID;
CREATE INDEX turns_time ON turns (time);

CREATE TABLE operations ( -- requests that may come twice
	by TEXT NOT NULL,
	operation TEXT NOT NULL,
	id TEXT NOT NULL REFERENCES records (id) ON DELETE CASCADE,
	hash BLOB NOT NULL,
	PRIMARY KEY (by, operation)
) WITHOUT ROWID;
CREATE INDEX operations_id ON operations (id);

CREATE TABLE typed ( -- texts that were, or may have been, typed into an agent
	agent TEXT NOT NULL,
	hash BLOB NOT NULL,
	id TEXT NOT NULL,
	time INTEGER NOT NULL,
	PRIMARY KEY (agent, hash, id)
) WITHOUT ROWID;
CREATE INDEX typed_id ON typed (id);
CREATE INDEX typed_time ON typed (time);
`, `
ALTER TABLE records DROP COLUMN text_hash; -- nobody read them
ALTER TABLE queue DROP COLUMN cooldown;
`}

// migrate runs what is missing, each step in a transaction of its own together with its number.
func migrate(ctx context.Context, db *sql.DB) error {
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return Typed("read the database's version", err)
	}
	for ; version < len(migrations); version++ {
		what := fmt.Sprintf("bring the database to format %d", version+1)
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return Typed(what, err)
		}
		_, err = tx.ExecContext(ctx, migrations[version]+fmt.Sprintf("PRAGMA user_version = %d;", version+1))
		if err == nil {
			err = tx.Commit()
		}
		if err != nil {
			_ = tx.Rollback()
			return Typed(what, err)
		}
	}
	return nil
}
