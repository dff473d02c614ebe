-- The whole truth of the PostgreSQL store: what all migrations together make.
--
-- migration    the files of migrations/ that were applied. Every process applies what is missing when
--              it starts, while others still run: ../migrations.py says what that asks of a file.
-- definition   a workflow as canonical JSON, by content
-- execution    one run; completion is its CompletionMessage once it has ended. It is begun when
--              it was announced; before that it is known from a message about it, its
--              definition_ref is empty and its start is the earliest that a message implies.
--              last_event is the number of its last event.
--              start: the tokens it began with, as a JSON array. generation: how often its state
--              was lost and rebuilt. heard_ms: when the last message about it came, to ten seconds.
-- node_run     the visits of nodes: written once, never changed; seq is the order.
--              JSON is stored as the bytes that came: text cannot hold NUL, jsonb changes numbers.
-- payload      values too large to carry, by content, once for each execution
-- event        the events of a run, numbered from 1 without gaps (kernel/run_events.py has the rules);
--              place is its place among the events of all runs, in the order they were committed
-- node_log     the lines that nodes logged, a row for each visit that logged any
-- workflow     a workflow by name, as it is now; revision grows with every change
-- workflow_version  its versions, each a definition by content; never changed
-- start_key    the run an idempotency key stands for, and a fingerprint of the request
-- run_control  the decisions about a run (ports/storage/run_decisions.py); none: no row
-- flow_rule    the start rule of a workflow; flow_run: the runs under one, in order; a run is parked
--              while it has no execution (ports/storage/start_rules.py)
-- run_trigger  what starts runs: settings as JSON, secrets newest first with spaces between, topic
--              is the path of a webhook or the one type of events; next_due_ms advances by itself
-- firing       each time a trigger fired, by a key that fires once (ports/storage/triggers.py)
-- gathering    the open event sets of a trigger, as JSON, at a revision that every event advances;
--              gathered_event: their events, by place; content is NULL once they have
--              started a run (ports/storage/event_sets.py)
-- outlet       the published position of the events of all runs, and who publishes until when
--              (ports/storage/publish_positions.py)
-- account      a person who may log in; password is a slow hash
-- api_token    the token of a program; hash is its SHA-256. workflows: a JSON array, NULL for all
-- login        a browser in which a person has logged in; hash is SHA-256 of its cookie
-- credential   a sealed credential: adapters/sql/credentials.py says how
-- audit        one row for each change; never changed
-- listener     the runs that listen to events, and at which address; "" as the type is any
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
CREATE INDEX node_run_item ON node_run (execution_id, md5(lineage), seq) WHERE lineage IS NOT NULL;

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
  place        bigint GENERATED BY DEFAULT AS IDENTITY,
  PRIMARY KEY (execution_id, seq)
);
CREATE INDEX event_place ON event (place);

CREATE TABLE node_log (
  execution_id text NOT NULL,
  seq          bigint GENERATED ALWAYS AS IDENTITY,
  node_id      text NOT NULL,
  attempt      integer NOT NULL,
  lineage      bytea,
  lines        bytea NOT NULL,
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

CREATE TABLE account (
  name       text PRIMARY KEY,
  role       text NOT NULL CHECK (role IN ('viewer', 'editor', 'admin')),
  password   text NOT NULL,
  enabled    boolean NOT NULL,
  created_ms bigint NOT NULL,
  changed_ms bigint NOT NULL
);

CREATE TABLE api_token (
  token_id   text PRIMARY KEY,
  name       text NOT NULL,
  hash       text NOT NULL UNIQUE,
  role       text NOT NULL CHECK (role IN ('viewer', 'editor', 'admin')),
  workflows  text,
  created_ms bigint NOT NULL,
  created_by text NOT NULL,
  expires_ms bigint,
  revoked_ms bigint,
  used_ms    bigint
);

CREATE TABLE login (
  hash       text PRIMARY KEY,
  name       text NOT NULL,
  created_ms bigint NOT NULL,
  expires_ms bigint NOT NULL
);
CREATE INDEX login_name ON login (name);
CREATE INDEX login_age ON login (expires_ms);

CREATE TABLE credential (
  name       text PRIMARY KEY,
  type       text NOT NULL,
  workflows  text,
  revision   bigint NOT NULL,
  created_ms bigint NOT NULL,
  changed_ms bigint NOT NULL,
  changed_by text NOT NULL,
  key        text NOT NULL,
  sealed     bytea NOT NULL
);

CREATE TABLE audit (
  seq        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at_ms      bigint NOT NULL,
  actor      text NOT NULL,
  action     text NOT NULL,
  target     text NOT NULL,
  origin     text NOT NULL,
  request_id text NOT NULL,
  before     text NOT NULL,
  after      text NOT NULL
);
CREATE INDEX audit_age ON audit (at_ms);

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

CREATE TABLE run_signal (
  seq          bigint GENERATED ALWAYS AS IDENTITY,
  execution_id text NOT NULL,
  address      text NOT NULL,
  signal_id    text NOT NULL,
  content      bytea NOT NULL,
  sender       text NOT NULL,
  sent_ms      bigint NOT NULL,
  PRIMARY KEY (execution_id, address, signal_id)
);
CREATE INDEX run_signal_page ON run_signal (execution_id, seq);

CREATE TABLE run_link (
  child_id  text PRIMARY KEY,
  parent_id text NOT NULL,
  node_id   text NOT NULL,
  token_id  text NOT NULL,
  depth     bigint NOT NULL,
  waits     boolean NOT NULL
);
CREATE INDEX run_link_parent ON run_link (parent_id, child_id);

CREATE TABLE listener (
  event_type   text NOT NULL,
  execution_id text NOT NULL,
  address      text NOT NULL,
  token        bytea NOT NULL,
  PRIMARY KEY (event_type, execution_id, address)
);
CREATE INDEX listener_run ON listener (execution_id);

CREATE TABLE run_origin (
  execution_id text PRIMARY KEY,
  trigger_id   text NOT NULL,
  kind         text NOT NULL
);
CREATE INDEX run_origin_trigger ON run_origin (trigger_id, execution_id);

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

CREATE TABLE gathering (
  trigger_id text PRIMARY KEY,
  revision   bigint NOT NULL,
  content    bytea NOT NULL
);

CREATE TABLE gathered_event (
  trigger_id text NOT NULL,
  event_key  text NOT NULL,
  gathering  text NOT NULL,
  place      bigint NOT NULL,
  content    bytea,
  at_ms      bigint NOT NULL,
  PRIMARY KEY (trigger_id, event_key)
);
CREATE INDEX gathered_event_of ON gathered_event (trigger_id, gathering, place);
CREATE INDEX gathered_event_age ON gathered_event (at_ms);

CREATE TABLE outlet (
  name     text PRIMARY KEY,
  place    bigint NOT NULL,
  holder   text NOT NULL,
  until_ms bigint NOT NULL
);
