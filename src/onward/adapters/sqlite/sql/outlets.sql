-- How far what happened has been told to somebody outside (ports/storage/publish_positions.py), in the same file.

CREATE TABLE IF NOT EXISTS outlet (
  name     TEXT PRIMARY KEY,
  place    INTEGER NOT NULL,
  holder   TEXT NOT NULL,
  until_ms INTEGER NOT NULL
) WITHOUT ROWID;
