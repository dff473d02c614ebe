-- How runs may start, and who waits for that. ../schema.sql describes it.

CREATE TABLE flow_rule (
  workflow_id text PRIMARY KEY,
  rule        bytea NOT NULL
);

CREATE TABLE flow_run (
  place          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  execution_id   text NOT NULL UNIQUE,
  workflow_id    text NOT NULL,
  definition_ref text NOT NULL,
  flow_key       text NOT NULL,
  at_ms          bigint NOT NULL,
  due_ms         bigint NOT NULL,
  start          bytea NOT NULL,
  released_ms    bigint
);
CREATE INDEX flow_run_key ON flow_run (flow_key, place);
CREATE INDEX flow_run_due ON flow_run (due_ms);

CREATE VIEW parked_run AS
SELECT execution_id, workflow_id, definition_ref, 'parked'::text AS status,
       at_ms AS started_ms, NULL::bigint AS ended_ms
FROM flow_run
WHERE NOT EXISTS (SELECT FROM execution WHERE execution.execution_id = flow_run.execution_id);
