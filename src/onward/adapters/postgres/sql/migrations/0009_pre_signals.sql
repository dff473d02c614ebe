-- Signals that were sent to runs, and which run started which. ../schema.sql describes it.

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
