-- Which runs listen to which events. ../schema.sql describes it.

CREATE TABLE listener (
  event_type   text NOT NULL,
  execution_id text NOT NULL,
  address      text NOT NULL,
  token        bytea NOT NULL,
  PRIMARY KEY (event_type, execution_id, address)
);
