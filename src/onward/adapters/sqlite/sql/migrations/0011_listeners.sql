-- Runs that listen to events.

CREATE TABLE IF NOT EXISTS listener (
  event_type   TEXT NOT NULL,
  execution_id TEXT NOT NULL,
  address      TEXT NOT NULL,
  token        BLOB NOT NULL,
  PRIMARY KEY (event_type, execution_id, address)
) WITHOUT ROWID;
