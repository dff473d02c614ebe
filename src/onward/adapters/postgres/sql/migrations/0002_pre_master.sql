-- What the API of the master keeps and reads by. ../schema.sql describes it.

ALTER TABLE execution ADD COLUMN last_event bigint NOT NULL DEFAULT 0;
CREATE INDEX execution_workflow ON execution (workflow_id, started_ms DESC, execution_id DESC);
CREATE INDEX node_run_page ON node_run (execution_id, seq);

CREATE TABLE event (
  execution_id text NOT NULL,
  seq          bigint NOT NULL,
  body         bytea NOT NULL,
  PRIMARY KEY (execution_id, seq)
);

CREATE TABLE workflow (
  workflow_id text PRIMARY KEY,
  revision    bigint NOT NULL,
  latest      bigint NOT NULL,
  published   bigint,
  enabled     boolean NOT NULL,
  created_ms  bigint NOT NULL,
  changed_ms  bigint NOT NULL
);

CREATE TABLE workflow_version (
  workflow_id    text NOT NULL,
  number         bigint NOT NULL,
  definition_ref text NOT NULL,
  created_ms     bigint NOT NULL,
  note           text NOT NULL,
  PRIMARY KEY (workflow_id, number)
);

CREATE TABLE start_key (
  key          text PRIMARY KEY,
  execution_id text NOT NULL,
  fingerprint  text NOT NULL,
  at_ms        bigint NOT NULL
);
CREATE INDEX start_key_age ON start_key (at_ms);
