-- What the API of the master keeps beside the journal, in the same file. Every table and index is
-- an addition that an engine without the API neither needs nor minds, so the version stays.
--
-- event             what happened in a run, numbered from 1 without gaps; only of runs that were
--                   served with an event log (kernel/run_events.py has the rules)
-- workflow          a workflow by name, as it is now; revision grows with every change
-- workflow_version  its versions, each a definition by content; never changed
-- start_key         which run an idempotency key stands for, and a fingerprint of what was asked

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
