-- Triggers, and every time that one of them fired.

CREATE TABLE run_trigger (
  trigger_id  text PRIMARY KEY,
  workflow_id text NOT NULL,
  kind        text NOT NULL,
  topic       text NOT NULL,
  revision    bigint NOT NULL,
  enabled     boolean NOT NULL,
  settings    bytea NOT NULL,
  secrets     text NOT NULL,
  next_due_ms bigint,
  created_ms  bigint NOT NULL,
  changed_ms  bigint NOT NULL
);
CREATE UNIQUE INDEX run_trigger_path ON run_trigger (topic) WHERE kind = 'webhook';
CREATE INDEX run_trigger_topic ON run_trigger (kind, topic, trigger_id);
CREATE INDEX run_trigger_workflow ON run_trigger (workflow_id, trigger_id);
CREATE INDEX run_trigger_due ON run_trigger (next_due_ms) WHERE next_due_ms IS NOT NULL;

CREATE TABLE firing (
  trigger_id   text NOT NULL,
  key          text NOT NULL,
  cause        text NOT NULL,
  due_ms       bigint NOT NULL,
  at_ms        bigint NOT NULL,
  execution_id text NOT NULL,
  state        text NOT NULL,
  overlap      text NOT NULL,
  note         text NOT NULL,
  input        bytea,
  PRIMARY KEY (trigger_id, key)
);
CREATE INDEX firing_newest ON firing (trigger_id, at_ms DESC, key DESC);
CREATE INDEX firing_age ON firing (at_ms);
CREATE INDEX firing_waiting ON firing (trigger_id, due_ms) WHERE state = 'waiting';
CREATE INDEX firing_starting ON firing (at_ms) WHERE state = 'starting';
CREATE INDEX firing_active ON firing (trigger_id)
  WHERE state IN ('starting', 'started') AND overlap <> 'allow';
