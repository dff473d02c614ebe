-- Definitions and history of many runs, in one SQLite file of their own (schema version 1).
--
-- definition   a workflow as canonical JSON, by content
-- execution    one run; completion is its CompletionMessage once it has ended. It is begun when
--              someone announced it; before that it is known from a message that speaks of it, its
--              definition_ref is empty and its start is the earliest that a message implies.
--              start: the tokens it began with, as a JSON array. generation: how often its state
--              was lost and rebuilt. heard_ms: when a message last spoke of it, to ten seconds.
-- node_run     what each visit of a node came to: written once, never changed
--
-- No foreign keys: messages come in any order. Retention removes what belongs together.

CREATE TABLE IF NOT EXISTS definition (
  ref         TEXT PRIMARY KEY,
  workflow_id TEXT NOT NULL,
  source      BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS execution (
  execution_id   TEXT PRIMARY KEY,
  workflow_id    TEXT NOT NULL,
  definition_ref TEXT NOT NULL,
  status         TEXT NOT NULL
    CHECK (status IN ('running', 'completed', 'failed', 'halted', 'cancelled')),
  started_ms     INTEGER NOT NULL,
  ended_ms       INTEGER,
  completion     BLOB,
  begun          INTEGER NOT NULL,
  start          BLOB,
  generation     INTEGER NOT NULL DEFAULT 0,
  heard_ms       INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS execution_newest ON execution (started_ms, execution_id);
CREATE INDEX IF NOT EXISTS execution_status ON execution (status, started_ms, execution_id);
CREATE INDEX IF NOT EXISTS execution_ended ON execution (ended_ms) WHERE ended_ms IS NOT NULL;

CREATE TABLE IF NOT EXISTS node_run (
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
CREATE UNIQUE INDEX IF NOT EXISTS node_run_once ON node_run (execution_id, token_id, node_id);
