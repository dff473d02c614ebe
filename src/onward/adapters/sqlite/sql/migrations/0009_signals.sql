-- Signals to runs, and links between a run and the runs it started.

CREATE TABLE IF NOT EXISTS run_signal (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  execution_id TEXT NOT NULL,
  address      TEXT NOT NULL,
  signal_id    TEXT NOT NULL,
  content      BLOB NOT NULL,
  sender       TEXT NOT NULL,
  sent_ms      INTEGER NOT NULL,
  UNIQUE (execution_id, address, signal_id)
);
CREATE INDEX IF NOT EXISTS run_signal_page ON run_signal (execution_id, seq);

CREATE TABLE IF NOT EXISTS run_link (
  child_id  TEXT PRIMARY KEY,
  parent_id TEXT NOT NULL,
  node_id   TEXT NOT NULL,
  token_id  TEXT NOT NULL,
  depth     INTEGER NOT NULL,
  waits     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS run_link_parent ON run_link (parent_id, child_id);
