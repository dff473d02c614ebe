-- One order for the events of all runs, items without reading every visit, and the log of nodes.

CREATE TABLE IF NOT EXISTS event_place (
  place        INTEGER PRIMARY KEY AUTOINCREMENT,
  execution_id TEXT NOT NULL,
  seq          INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS event_place_run ON event_place (execution_id);
INSERT INTO event_place (execution_id, seq)
SELECT execution_id, seq FROM event JOIN execution USING (execution_id)
WHERE NOT EXISTS (SELECT 1 FROM event_place)
ORDER BY started_ms, execution_id, seq;
CREATE TRIGGER IF NOT EXISTS event_placed AFTER INSERT ON event BEGIN
  INSERT INTO event_place (execution_id, seq) VALUES (new.execution_id, new.seq);
END;

CREATE INDEX IF NOT EXISTS node_run_item ON node_run (
  execution_id,
  (json_extract(CAST(lineage AS TEXT), '$[#-1].split_token')
   || '/' || json_extract(CAST(lineage AS TEXT), '$[#-1].item_index'))
) WHERE lineage IS NOT NULL;

CREATE TABLE IF NOT EXISTS node_log (
  place        INTEGER PRIMARY KEY,
  execution_id TEXT NOT NULL,
  node_id      TEXT NOT NULL,
  attempt      INTEGER NOT NULL,
  lineage      BLOB,
  lines        BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS node_log_run ON node_log (execution_id);
