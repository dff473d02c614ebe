-- How far the events of all runs have been published.

CREATE TABLE IF NOT EXISTS outlet (
  name     TEXT PRIMARY KEY,
  place    INTEGER NOT NULL,
  holder   TEXT NOT NULL,
  until_ms INTEGER NOT NULL
) WITHOUT ROWID;
