-- The first tables. ../schema.sql describes them.

CREATE TABLE migration (
  name text PRIMARY KEY
);

CREATE TABLE definition (
  ref         text PRIMARY KEY,
  workflow_id text NOT NULL,
  source      bytea NOT NULL
);

CREATE TABLE execution (
  execution_id   text PRIMARY KEY,
  workflow_id    text NOT NULL,
  definition_ref text NOT NULL,
  status         text NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'halted')),
  started_ms     bigint NOT NULL,
  ended_ms       bigint,
  completion     bytea,
  begun          boolean NOT NULL
);
CREATE INDEX execution_newest ON execution (started_ms DESC, execution_id DESC);
CREATE INDEX execution_status ON execution (status, started_ms DESC, execution_id DESC);
CREATE INDEX execution_ended ON execution (ended_ms) WHERE ended_ms IS NOT NULL;

CREATE TABLE node_run (
  execution_id text NOT NULL,
  token_id     text NOT NULL,
  node_id      text NOT NULL,
  status       text NOT NULL,
  attempt      integer NOT NULL,
  at_ms        bigint NOT NULL,
  duration_ms  bigint NOT NULL,
  lineage      bytea,
  output       bytea,
  output_ref   bytea,
  error        bytea,
  seq          bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (execution_id, token_id, node_id)
);

CREATE TABLE payload (
  execution_id text NOT NULL,
  hash         text NOT NULL,
  body         bytea NOT NULL,
  PRIMARY KEY (execution_id, hash)
);
