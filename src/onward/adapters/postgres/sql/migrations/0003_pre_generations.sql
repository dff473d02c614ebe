-- What it takes to rebuild a run whose state was lost: its first tokens, and which rebuild it is.
ALTER TABLE execution ADD COLUMN start bytea;
ALTER TABLE execution ADD COLUMN generation integer NOT NULL DEFAULT 0;
ALTER TABLE execution ADD COLUMN heard_ms bigint NOT NULL DEFAULT 0;
CREATE INDEX execution_running ON execution (execution_id) WHERE status = 'running';
