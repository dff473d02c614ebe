-- The whole truth of the PostgreSQL store: what all migrations together make.
--
-- migration    the files of migrations/ that were applied. Every process applies what is missing when
--              it starts, while others still run: ../migrations.py says what that asks of a file.
-- definition   a workflow as canonical JSON, by content
-- execution    one run; completion is its CompletionMessage once it has ended. It is begun when
--              someone announced it; before that it is known from a message that speaks of it, its
--              definition_ref is empty and its start is the earliest that a message implies.
--              last_event is the number of its last event.
--              start: the tokens it began with, as a JSON array. generation: how often its state
--              was lost and rebuilt. heard_ms: when a message last spoke of it, to ten seconds.
-- node_run     what each visit of a node came to: written once, never changed; seq is the order.
--              JSON is kept as the bytes that came: text cannot hold NUL, jsonb changes numbers.
-- payload      values too large to carry, by content, once for each execution
-- event        what happened in a run, numbered from 1 without gaps (ports/events.py has the rules)
-- workflow     a workflow by name, as it is now; revision grows with every change
-- workflow_version  its versions, each a definition by content; never changed
-- start_key    which run an idempotency key stands for, and a fingerprint of what was asked
--
-- No foreign keys: messages come in any order. Retention removes what belongs together.

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
  status         text NOT NULL
    CHECK (status IN ('running', 'completed', 'failed', 'halted', 'cancelled')),
  started_ms     bigint NOT NULL,
  ended_ms       bigint,
  completion     bytea,
  begun          boolean NOT NULL,
  last_event     bigint NOT NULL DEFAULT 0,
  start          bytea,
  generation     integer NOT NULL DEFAULT 0,
  heard_ms       bigint NOT NULL DEFAULT 0
);
CREATE INDEX execution_running ON execution (execution_id) WHERE status = 'running';
CREATE INDEX execution_newest ON execution (started_ms DESC, execution_id DESC);
CREATE INDEX execution_status ON execution (status, started_ms DESC, execution_id DESC);
CREATE INDEX execution_ended ON execution (ended_ms) WHERE ended_ms IS NOT NULL;
CREATE INDEX execution_workflow ON execution (workflow_id, started_ms DESC, execution_id DESC);

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
CREATE INDEX node_run_page ON node_run (execution_id, seq);

CREATE TABLE payload (
  execution_id text NOT NULL,
  hash         text NOT NULL,
  body         bytea NOT NULL,
  PRIMARY KEY (execution_id, hash)
);

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
