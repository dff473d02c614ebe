-- Visits are found by their run. A token is consumed once, so a unique index only cost time.

DROP INDEX IF EXISTS node_run_once;
CREATE INDEX IF NOT EXISTS node_run_execution ON node_run (execution_id);
