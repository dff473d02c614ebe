-- Triggers and their firings.

CREATE TABLE IF NOT EXISTS run_trigger (
  trigger_id  TEXT PRIMARY KEY,
  workflow_id TEXT NOT NULL,
  kind        TEXT NOT NULL,
  topic       TEXT NOT NULL,
  revision    INTEGER NOT NULL,
  enabled     INTEGER NOT NULL,
  settings    BLOB NOT NULL,
  secrets     TEXT NOT NULL,
  next_due_ms INTEGER,
  created_ms  INTEGER NOT NULL,
  changed_ms  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS run_trigger_path ON run_trigger (topic) WHERE kind = 'webhook';
CREATE INDEX IF NOT EXISTS run_trigger_topic ON run_trigger (kind, topic, trigger_id);
CREATE INDEX IF NOT EXISTS run_trigger_workflow ON run_trigger (workflow_id, trigger_id);
CREATE INDEX IF NOT EXISTS run_trigger_due ON run_trigger (next_due_ms) WHERE next_due_ms IS NOT NULL;

CREATE TABLE IF NOT EXISTS firing (
  trigger_id   TEXT NOT NULL,
  key          TEXT NOT NULL,
  cause        TEXT NOT NULL,
  due_ms       INTEGER NOT NULL,
  at_ms        INTEGER NOT NULL,
  execution_id TEXT NOT NULL,
  state        TEXT NOT NULL,
  overlap      TEXT NOT NULL,
  note         TEXT NOT NULL,
  input        BLOB,
  PRIMARY KEY (trigger_id, key)
);
CREATE INDEX IF NOT EXISTS firing_newest ON firing (trigger_id, at_ms DESC, key DESC);
CREATE INDEX IF NOT EXISTS firing_age ON firing (at_ms);
CREATE INDEX IF NOT EXISTS firing_waiting ON firing (trigger_id, due_ms) WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS firing_starting ON firing (at_ms) WHERE state = 'starting';
CREATE INDEX IF NOT EXISTS firing_active ON firing (trigger_id)
  WHERE state IN ('starting', 'started') AND overlap <> 'allow';
