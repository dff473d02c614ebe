-- Events that wait for others before they start a run together, and how far events were published.
-- ../schema.sql describes them.

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
