-- Which trigger started a run, and the listeners of a run.

CREATE TABLE IF NOT EXISTS run_origin (
  execution_id TEXT PRIMARY KEY,
  trigger_id   TEXT NOT NULL,
  kind         TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS run_origin_trigger ON run_origin (trigger_id, execution_id);

CREATE INDEX IF NOT EXISTS listener_run ON listener (execution_id);
