-- Users, API tokens, logins, credentials and the audit log.

CREATE TABLE IF NOT EXISTS account (
  name       TEXT PRIMARY KEY,
  role       TEXT NOT NULL CHECK (role IN ('viewer', 'editor', 'admin')),
  password   TEXT NOT NULL,
  enabled    INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  changed_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS api_token (
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

CREATE TABLE IF NOT EXISTS login (
  hash       TEXT PRIMARY KEY,
  name       TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS login_name ON login (name);
CREATE INDEX IF NOT EXISTS login_age ON login (expires_ms);

CREATE TABLE IF NOT EXISTS credential (
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

CREATE TABLE IF NOT EXISTS audit (
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
CREATE INDEX IF NOT EXISTS audit_age ON audit (at_ms);
