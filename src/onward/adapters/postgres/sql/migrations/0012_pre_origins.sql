-- Which trigger started a run, and finding who listens by the run. ../schema.sql describes it.

CREATE TABLE run_origin (
  execution_id text PRIMARY KEY,
  trigger_id   text NOT NULL,
  kind         text NOT NULL
);
CREATE INDEX run_origin_trigger ON run_origin (trigger_id, execution_id);

CREATE INDEX listener_run ON listener (execution_id);
