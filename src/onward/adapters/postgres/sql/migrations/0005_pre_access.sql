-- Who may use the API, what they changed, and sealed credentials. ../schema.sql describes them.

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
