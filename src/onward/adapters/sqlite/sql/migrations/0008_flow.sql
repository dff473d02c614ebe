-- Start rules and parked runs.

CREATE TABLE IF NOT EXISTS flow_rule (
  workflow_id TEXT PRIMARY KEY,
  rule        BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS flow_run (
  place          INTEGER PRIMARY KEY,
  execution_id   TEXT NOT NULL UNIQUE,
  workflow_id    TEXT NOT NULL,
  definition_ref TEXT NOT NULL,
  flow_key       TEXT NOT NULL,
  at_ms          INTEGER NOT NULL,
  due_ms         INTEGER NOT NULL,
  start          BLOB NOT NULL,
  released_ms    INTEGER
);
CREATE INDEX IF NOT EXISTS flow_run_key ON flow_run (flow_key, place);
CREATE INDEX IF NOT EXISTS flow_run_due ON flow_run (due_ms);

CREATE VIEW IF NOT EXISTS parked_run AS
SELECT execution_id, workflow_id, definition_ref, 'parked' AS status, at_ms AS started_ms,
       NULL AS ended_ms
FROM flow_run
WHERE NOT EXISTS (SELECT 1 FROM execution WHERE execution.execution_id = flow_run.execution_id);
