-- The whole truth of an embedded onward, in one SQLite file: what all migrations together make.
--
-- definition   a workflow as canonical JSON, by content
-- execution    one run; completion is its CompletionMessage once it has ended
-- message      tokens that were sent and are not consumed; seq is the order of sending
-- timer        tokens that will be sent when they are due; the id is the token's own
-- cell         coordination state of running executions (kernel/coordination.py lists the kinds)
-- payload      values too large to carry, by content, once for each execution
-- node_run     the visits of nodes: written once, never changed; rowid is the order
-- quarantine   messages that could not be handled, with the reason
-- event        the events of a run, numbered from 1 without gaps; only of runs that were served with
--              an event log (kernel/run_events.py has the rules)
-- event_place  the order in which events of all runs were written; filled by a trigger
-- node_log     the lines that nodes logged, a row for each visit that logged any
-- workflow     a workflow by name, as it is now; revision grows with every change
-- workflow_version  its versions, each a definition by content; never changed
-- start_key    the run an idempotency key stands for, and a fingerprint of the request
-- run_trigger  what starts runs: settings as JSON, secrets newest first with spaces between, topic
--              is the path of a webhook or the one type of events; next_due_ms advances by itself
-- firing       each time a trigger fired, by a key that fires once (ports/storage/triggers.py)
-- run_origin   the trigger that started a run
-- gathering    the open event sets of a trigger, as JSON, at a revision that every event advances
-- gathered_event  their events, by place; content is NULL once they have started a run
--              (ports/storage/event_sets.py)
-- outlet       the published position of the events of all runs, and who publishes until when
--              (ports/storage/publish_positions.py)
-- account      a person who may log in; password is a slow hash
-- api_token    the token of a program; hash is its SHA-256. workflows: a JSON array, NULL for all
-- login        a browser in which a person has logged in; hash is SHA-256 of its cookie
-- credential   a sealed credential: adapters/sql/credentials.py says how
-- audit        one row for each change; never changed
-- run_control  the decisions about a run (ports/storage/run_decisions.py); none: no row
-- flow_rule    the start rule of a workflow; flow_run: the runs under one, in order; a run is parked
--              while it has no execution (ports/storage/start_rules.py)
-- run_signal   signals that were sent to runs; run_link: which run started which
--              (ports/storage/signals.py)
-- listener     the runs that listen to events, and at which address; "" as the type is any

CREATE TABLE definition (
  ref         TEXT PRIMARY KEY,
  workflow_id TEXT NOT NULL,
  source      BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE execution (
  execution_id   TEXT PRIMARY KEY,
  workflow_id    TEXT NOT NULL,
  definition_ref TEXT NOT NULL REFERENCES definition (ref),
  status         TEXT NOT NULL
    CHECK (status IN ('running', 'completed', 'failed', 'halted', 'cancelled')),
  started_ms     INTEGER NOT NULL,
  ended_ms       INTEGER,
  completion     BLOB
) WITHOUT ROWID;
CREATE INDEX execution_running ON execution (started_ms) WHERE status = 'running';
CREATE INDEX execution_newest ON execution (started_ms, execution_id);
CREATE INDEX execution_workflow ON execution (workflow_id, started_ms, execution_id);

CREATE TABLE message (
  seq          INTEGER PRIMARY KEY,
  execution_id TEXT NOT NULL,
  body         BLOB NOT NULL
);
CREATE INDEX message_execution ON message (execution_id, seq);

CREATE TABLE timer (
  execution_id TEXT NOT NULL,
  timer_id     TEXT NOT NULL,
  due_ms       INTEGER NOT NULL,
  body         BLOB NOT NULL,
  PRIMARY KEY (execution_id, timer_id)
) WITHOUT ROWID;

CREATE TABLE cell (
  execution_id TEXT NOT NULL,
  grp          TEXT NOT NULL,
  kind         TEXT NOT NULL,
  field        TEXT NOT NULL,
  value        BLOB NOT NULL,
  PRIMARY KEY (execution_id, grp, kind, field)
) WITHOUT ROWID;

CREATE TABLE payload (
  execution_id TEXT NOT NULL,
  hash         TEXT NOT NULL,
  body         BLOB NOT NULL,
  PRIMARY KEY (execution_id, hash)
);

CREATE TABLE node_run (
  execution_id TEXT NOT NULL,
  token_id     TEXT NOT NULL,
  node_id      TEXT NOT NULL,
  status       TEXT NOT NULL,
  attempt      INTEGER NOT NULL,
  at_ms        INTEGER NOT NULL,
  duration_ms  INTEGER NOT NULL,
  lineage      BLOB,
  output       BLOB,
  output_ref   BLOB,
  error        BLOB
);
CREATE INDEX node_run_execution ON node_run (execution_id);
CREATE INDEX node_run_item ON node_run (
  execution_id,
  (json_extract(CAST(lineage AS TEXT), '$[#-1].split_token')
   || '/' || json_extract(CAST(lineage AS TEXT), '$[#-1].item_index'))
) WHERE lineage IS NOT NULL;

CREATE TABLE quarantine (
  seq          INTEGER PRIMARY KEY,
  execution_id TEXT NOT NULL,
  reason       TEXT NOT NULL,
  body         BLOB NOT NULL,
  at_ms        INTEGER NOT NULL
);

CREATE TABLE event (
  execution_id TEXT NOT NULL,
  seq          INTEGER NOT NULL,
  body         BLOB NOT NULL,
  PRIMARY KEY (execution_id, seq)
) WITHOUT ROWID;

CREATE TABLE workflow (
  workflow_id TEXT PRIMARY KEY,
  revision    INTEGER NOT NULL,
  latest      INTEGER NOT NULL,
  published   INTEGER,
  enabled     INTEGER NOT NULL,
  created_ms  INTEGER NOT NULL,
  changed_ms  INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE workflow_version (
  workflow_id    TEXT NOT NULL,
  number         INTEGER NOT NULL,
  definition_ref TEXT NOT NULL,
  created_ms     INTEGER NOT NULL,
  note           TEXT NOT NULL,
  PRIMARY KEY (workflow_id, number)
) WITHOUT ROWID;

CREATE TABLE start_key (
  key          TEXT PRIMARY KEY,
  execution_id TEXT NOT NULL,
  fingerprint  TEXT NOT NULL,
  at_ms        INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX start_key_age ON start_key (at_ms);

CREATE TABLE event_place (
  place        INTEGER PRIMARY KEY AUTOINCREMENT,
  execution_id TEXT NOT NULL,
  seq          INTEGER NOT NULL
);
CREATE INDEX event_place_run ON event_place (execution_id);
CREATE TRIGGER event_placed AFTER INSERT ON event BEGIN
  INSERT INTO event_place (execution_id, seq) VALUES (new.execution_id, new.seq);
END;

CREATE TABLE node_log (
  place        INTEGER PRIMARY KEY,
  execution_id TEXT NOT NULL,
  node_id      TEXT NOT NULL,
  attempt      INTEGER NOT NULL,
  lineage      BLOB,
  lines        BLOB NOT NULL
);
CREATE INDEX node_log_run ON node_log (execution_id);

CREATE TABLE run_trigger (
  trigger_id  TEXT PRIMARY KEY,
  workflow_id TEXT NOT NULL,
  kind        TEXT NOT NULL,
  topic       TEXT NOT NULL,
  revision    INTEGER NOT NULL,
  enabled     INTEGER NOT NULL,
  settings    BLOB NOT NULL,
  secrets     TEXT NOT NULL,
  next_due_ms INTEGER,
  created_ms  INTEGER NOT NULL,
  changed_ms  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX run_trigger_path ON run_trigger (topic) WHERE kind = 'webhook';
CREATE INDEX run_trigger_topic ON run_trigger (kind, topic, trigger_id);
CREATE INDEX run_trigger_workflow ON run_trigger (workflow_id, trigger_id);
CREATE INDEX run_trigger_due ON run_trigger (next_due_ms) WHERE next_due_ms IS NOT NULL;

CREATE TABLE firing (
  trigger_id   TEXT NOT NULL,
  key          TEXT NOT NULL,
  cause        TEXT NOT NULL,
  due_ms       INTEGER NOT NULL,
  at_ms        INTEGER NOT NULL,
  execution_id TEXT NOT NULL,
  state        TEXT NOT NULL,
  overlap      TEXT NOT NULL,
  note         TEXT NOT NULL,
  input        BLOB,
  PRIMARY KEY (trigger_id, key)
);
CREATE INDEX firing_newest ON firing (trigger_id, at_ms DESC, key DESC);
CREATE INDEX firing_age ON firing (at_ms);
CREATE INDEX firing_waiting ON firing (trigger_id, due_ms) WHERE state = 'waiting';
CREATE INDEX firing_starting ON firing (at_ms) WHERE state = 'starting';
CREATE INDEX firing_active ON firing (trigger_id)
  WHERE state IN ('starting', 'started') AND overlap <> 'allow';

CREATE TABLE run_origin (
  execution_id TEXT PRIMARY KEY,
  trigger_id   TEXT NOT NULL,
  kind         TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX run_origin_trigger ON run_origin (trigger_id, execution_id);

CREATE TABLE gathering (
  trigger_id TEXT PRIMARY KEY,
  revision   INTEGER NOT NULL,
  content    BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE gathered_event (
  trigger_id TEXT NOT NULL,
  event_key  TEXT NOT NULL,
  gathering  TEXT NOT NULL,
  place      INTEGER NOT NULL,
  content    BLOB,
  at_ms      INTEGER NOT NULL,
  PRIMARY KEY (trigger_id, event_key)
);
CREATE INDEX gathered_event_of ON gathered_event (trigger_id, gathering, place);
CREATE INDEX gathered_event_age ON gathered_event (at_ms);

CREATE TABLE outlet (
  name     TEXT PRIMARY KEY,
  place    INTEGER NOT NULL,
  holder   TEXT NOT NULL,
  until_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE account (
  name       TEXT PRIMARY KEY,
  role       TEXT NOT NULL CHECK (role IN ('viewer', 'editor', 'admin')),
  password   TEXT NOT NULL,
  enabled    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  changed_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE api_token (
  token_id   TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  hash       TEXT NOT NULL UNIQUE,
  role       TEXT NOT NULL CHECK (role IN ('viewer', 'editor', 'admin')),
  workflows  TEXT,
  created_ms INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  expires_ms INTEGER,
  revoked_ms INTEGER,
  used_ms    INTEGER
) WITHOUT ROWID;

CREATE TABLE login (
  hash       TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX login_name ON login (name);
CREATE INDEX login_age ON login (expires_ms);

CREATE TABLE credential (
  name       TEXT PRIMARY KEY,
  type       TEXT NOT NULL,
  workflows  TEXT,
  revision   INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  changed_ms INTEGER NOT NULL,
  changed_by TEXT NOT NULL,
  key        TEXT NOT NULL,
  sealed     BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE audit (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms      INTEGER NOT NULL,
  actor      TEXT NOT NULL,
  action     TEXT NOT NULL,
  target     TEXT NOT NULL,
  origin     TEXT NOT NULL,
  request_id TEXT NOT NULL,
  before     TEXT NOT NULL,
  after      TEXT NOT NULL
);
CREATE INDEX audit_age ON audit (at_ms);

CREATE TABLE run_control (
  execution_id TEXT PRIMARY KEY,
  retry_of     TEXT,
  root         TEXT NOT NULL DEFAULT '',
  paused_ms    INTEGER,
  priority     INTEGER NOT NULL DEFAULT 0,
  deadline_ms  INTEGER
) WITHOUT ROWID;
CREATE INDEX run_control_attempt ON run_control (retry_of, execution_id)
  WHERE retry_of IS NOT NULL;
CREATE INDEX run_control_deadline ON run_control (deadline_ms)
  WHERE deadline_ms IS NOT NULL;

CREATE TABLE flow_rule (
  workflow_id TEXT PRIMARY KEY,
  rule        BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE flow_run (
  place          INTEGER PRIMARY KEY,
  execution_id   TEXT NOT NULL UNIQUE,
  workflow_id    TEXT NOT NULL,
  definition_ref TEXT NOT NULL,
  flow_key       TEXT NOT NULL,
  at_ms          INTEGER NOT NULL,
  due_ms         INTEGER NOT NULL,
  start          BLOB NOT NULL,
  released_ms    INTEGER
);
CREATE INDEX flow_run_key ON flow_run (flow_key, place);
CREATE INDEX flow_run_due ON flow_run (due_ms);

CREATE VIEW parked_run AS
SELECT execution_id, workflow_id, definition_ref, 'parked' AS status, at_ms AS started_ms,
       NULL AS ended_ms
FROM flow_run
WHERE NOT EXISTS (SELECT 1 FROM execution WHERE execution.execution_id = flow_run.execution_id);

CREATE TABLE run_signal (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  execution_id TEXT NOT NULL,
  address      TEXT NOT NULL,
  signal_id    TEXT NOT NULL,
  content      BLOB NOT NULL,
  sender       TEXT NOT NULL,
  sent_ms      INTEGER NOT NULL,
  UNIQUE (execution_id, address, signal_id)
);
CREATE INDEX run_signal_page ON run_signal (execution_id, seq);

CREATE TABLE run_link (
  child_id  TEXT PRIMARY KEY,
  parent_id TEXT NOT NULL,
  node_id   TEXT NOT NULL,
  token_id  TEXT NOT NULL,
  depth     INTEGER NOT NULL,
  waits     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX run_link_parent ON run_link (parent_id, child_id);

CREATE TABLE listener (
  event_type   TEXT NOT NULL,
  execution_id TEXT NOT NULL,
  address      TEXT NOT NULL,
  token        BLOB NOT NULL,
  PRIMARY KEY (event_type, execution_id, address)
) WITHOUT ROWID;
CREATE INDEX listener_run ON listener (execution_id);
