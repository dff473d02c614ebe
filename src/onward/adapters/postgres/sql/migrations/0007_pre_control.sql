-- What was decided about runs. ../schema.sql describes it.

CREATE TABLE run_control (
  execution_id text PRIMARY KEY,
  retry_of     text,
  root         text NOT NULL DEFAULT '',
  paused_ms    bigint,
  priority     integer NOT NULL DEFAULT 0,
  deadline_ms  bigint
);
CREATE INDEX run_control_attempt ON run_control (retry_of, execution_id)
  WHERE retry_of IS NOT NULL;
CREATE INDEX run_control_deadline ON run_control (deadline_ms) WHERE deadline_ms IS NOT NULL;
