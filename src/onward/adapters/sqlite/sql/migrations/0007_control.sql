-- Decisions about runs.

CREATE TABLE IF NOT EXISTS run_control (
  execution_id TEXT PRIMARY KEY,
  retry_of     TEXT,
  root         TEXT NOT NULL DEFAULT '',
  paused_ms    INTEGER,
  priority     INTEGER NOT NULL DEFAULT 0,
  deadline_ms  INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS run_control_attempt ON run_control (retry_of, execution_id)
  WHERE retry_of IS NOT NULL;
CREATE INDEX IF NOT EXISTS run_control_deadline ON run_control (deadline_ms)
  WHERE deadline_ms IS NOT NULL;
