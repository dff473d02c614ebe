-- A run can end as cancelled. A check cannot be changed, so the table is copied; this is the one
-- migration that cannot be repeated (../../migrations.py says why that matters).

CREATE TABLE execution_copy (
  execution_id   TEXT PRIMARY KEY,
  workflow_id    TEXT NOT NULL,
  definition_ref TEXT NOT NULL REFERENCES definition (ref),
  status         TEXT NOT NULL
    CHECK (status IN ('running', 'completed', 'failed', 'halted', 'cancelled')),
  started_ms     INTEGER NOT NULL,
  ended_ms       INTEGER,
  completion     BLOB
) WITHOUT ROWID;
INSERT INTO execution_copy
SELECT execution_id, workflow_id, definition_ref, status, started_ms, ended_ms, completion
FROM execution;
DROP TABLE execution;
ALTER TABLE execution_copy RENAME TO execution;
CREATE INDEX execution_running ON execution (started_ms) WHERE status = 'running';
