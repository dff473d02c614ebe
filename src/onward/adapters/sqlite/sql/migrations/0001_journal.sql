-- The journal of the first release.

CREATE TABLE definition (
  ref         TEXT PRIMARY KEY,
  workflow_id TEXT NOT NULL,
  source      BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE execution (
  execution_id   TEXT PRIMARY KEY,
  workflow_id    TEXT NOT NULL,
  definition_ref TEXT NOT NULL REFERENCES definition (ref),
  status         TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'halted')),
  started_ms     INTEGER NOT NULL,
  ended_ms       INTEGER,
  completion     BLOB
) WITHOUT ROWID;
CREATE INDEX execution_running ON execution (started_ms) WHERE status = 'running';

CREATE TABLE message (
  seq          INTEGER PRIMARY KEY,
  execution_id TEXT NOT NULL,
  body         BLOB NOT NULL
);
CREATE INDEX message_execution ON message (execution_id, seq);

CREATE TABLE timer (
  execution_id TEXT NOT NULL,
  timer_id     TEXT NOT NULL,
  due_ms       INTEGER NOT NULL,
  body         BLOB NOT NULL,
  PRIMARY KEY (execution_id, timer_id)
) WITHOUT ROWID;

CREATE TABLE cell (
  execution_id TEXT NOT NULL,
  grp          TEXT NOT NULL,
  kind         TEXT NOT NULL,
  field        TEXT NOT NULL,
  value        BLOB NOT NULL,
  PRIMARY KEY (execution_id, grp, kind, field)
) WITHOUT ROWID;

CREATE TABLE payload (
  execution_id TEXT NOT NULL,
  hash         TEXT NOT NULL,
  body         BLOB NOT NULL,
  PRIMARY KEY (execution_id, hash)
);

CREATE TABLE node_run (
  execution_id TEXT NOT NULL,
  token_id     TEXT NOT NULL,
  node_id      TEXT NOT NULL,
  status       TEXT NOT NULL,
  attempt      INTEGER NOT NULL,
  at_ms        INTEGER NOT NULL,
  duration_ms  INTEGER NOT NULL,
  lineage      BLOB,
  output       BLOB,
  output_ref   BLOB,
  error        BLOB
);
CREATE UNIQUE INDEX node_run_once ON node_run (execution_id, token_id, node_id);

CREATE TABLE quarantine (
  seq          INTEGER PRIMARY KEY,
  execution_id TEXT NOT NULL,
  reason       TEXT NOT NULL,
  body         BLOB NOT NULL,
  at_ms        INTEGER NOT NULL
);
