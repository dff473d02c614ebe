-- Events that wait for others before they start a run together.

CREATE TABLE IF NOT EXISTS gathering (
  trigger_id TEXT PRIMARY KEY,
  revision   INTEGER NOT NULL,
  content    BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS gathered_event (
  trigger_id TEXT NOT NULL,
  event_key  TEXT NOT NULL,
  gathering  TEXT NOT NULL,
  place      INTEGER NOT NULL,
  content    BLOB,
  at_ms      INTEGER NOT NULL,
  PRIMARY KEY (trigger_id, event_key)
);
CREATE INDEX IF NOT EXISTS gathered_event_of ON gathered_event (trigger_id, gathering, place);
CREATE INDEX IF NOT EXISTS gathered_event_age ON gathered_event (at_ms);
