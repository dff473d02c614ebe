-- The log of events, the registry of workflows and the idempotency keys of the API.

CREATE TABLE IF NOT EXISTS event (
  execution_id TEXT NOT NULL,
  seq          INTEGER NOT NULL,
  body         BLOB NOT NULL,
  PRIMARY KEY (execution_id, seq)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS workflow (
  workflow_id TEXT PRIMARY KEY,
  revision    INTEGER NOT NULL,
  latest      INTEGER NOT NULL,
  published   INTEGER,
  enabled     INTEGER NOT NULL,
  created_ms  INTEGER NOT NULL,
  changed_ms  INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS workflow_version (
  workflow_id    TEXT NOT NULL,
  number         INTEGER NOT NULL,
  definition_ref TEXT NOT NULL,
  created_ms     INTEGER NOT NULL,
  note           TEXT NOT NULL,
  PRIMARY KEY (workflow_id, number)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS start_key (
  key          TEXT PRIMARY KEY,
  execution_id TEXT NOT NULL,
  fingerprint  TEXT NOT NULL,
  at_ms        INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS start_key_age ON start_key (at_ms);

CREATE INDEX IF NOT EXISTS execution_newest ON execution (started_ms, execution_id);
CREATE INDEX IF NOT EXISTS execution_workflow ON execution (workflow_id, started_ms, execution_id);
