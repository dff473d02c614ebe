"""The statements of the store that only PostgreSQL has. Values are parameters, never text.

A batch is one statement for each table: its columns are arrays, so its size costs no round trips.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def columns(rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    """Return the rows turned round: an array for each column."""
    return list(zip(*rows, strict=True))


# A run that was only seen so far is begun now, and its ending stays.
BEGIN = """
INSERT INTO execution (execution_id, workflow_id, definition_ref, status, started_ms, begun,
                       start, heard_ms)
VALUES ($1, $2, $3, 'running', $4, true, $5, $4)
ON CONFLICT (execution_id) DO UPDATE
SET workflow_id = excluded.workflow_id, definition_ref = excluded.definition_ref,
    started_ms = excluded.started_ms, begun = true, start = excluded.start
WHERE NOT execution.begun
RETURNING execution_id
"""

# Locks every run of the batch, in order, also those that it leaves as they are: two masters that
# fold messages of the same runs wait for each other here and never in a circle.
# The time of the last message about a run is written at most every ten seconds: it need not be
# exact.
SEE = """
INSERT INTO execution (execution_id, workflow_id, definition_ref, status, started_ms, begun,
                       heard_ms)
SELECT seen.execution_id, seen.workflow_id, '', 'running', seen.started_ms, false, seen.heard_ms
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
     AS seen (execution_id, workflow_id, started_ms, heard_ms)
ORDER BY seen.execution_id
ON CONFLICT (execution_id) DO UPDATE
SET started_ms = CASE WHEN execution.begun THEN execution.started_ms
                      ELSE least(execution.started_ms, excluded.started_ms) END,
    heard_ms = greatest(execution.heard_ms, excluded.heard_ms)
WHERE NOT execution.begun AND excluded.started_ms < execution.started_ms
   OR excluded.heard_ms > execution.heard_ms + 10000
"""

RECORD = """
INSERT INTO node_run (execution_id, token_id, node_id, status, attempt, at_ms, duration_ms,
                      lineage, output, output_ref, error)
SELECT execution_id, token_id, node_id, status, attempt, at_ms, duration_ms,
       lineage, output, output_ref, error
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::bigint[],
            $7::bigint[], $8::bytea[], $9::bytea[], $10::bytea[], $11::bytea[])
     WITH ORDINALITY
     AS visit (execution_id, token_id, node_id, status, attempt, at_ms, duration_ms,
             lineage, output, output_ref, error, place)
ORDER BY place
ON CONFLICT (execution_id, token_id, node_id) DO NOTHING
RETURNING execution_id, token_id, node_id
"""

SAVE_LINES = """
INSERT INTO node_log (execution_id, node_id, attempt, lineage, lines)
SELECT * FROM unnest($1::text[], $2::text[], $3::integer[], $4::bytea[], $5::bytea[])
"""

# A terminal state is final: the row changes only while it still runs.
END = """
UPDATE execution
SET status = ended.status, ended_ms = ended.ended_ms, completion = ended.completion
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[])
     AS ended (execution_id, status, ended_ms, completion)
WHERE execution.execution_id = ended.execution_id AND execution.status = 'running'
RETURNING execution.execution_id
"""

EXECUTION = """
SELECT execution_id, workflow_id, definition_ref, status, started_ms, ended_ms, completion,
       generation
FROM execution WHERE execution_id = $1
"""

NEWEST = """
SELECT execution_id, workflow_id, definition_ref, status, started_ms, ended_ms, completion,
       generation
FROM execution ORDER BY started_ms DESC, execution_id DESC LIMIT $1
"""

NEWEST_OF_STATUS = """
SELECT execution_id, workflow_id, definition_ref, status, started_ms, ended_ms, completion,
       generation
FROM execution WHERE status = $2 ORDER BY started_ms DESC, execution_id DESC LIMIT $1
"""

QUIET = """
SELECT execution_id, workflow_id, definition_ref, status, started_ms, ended_ms, completion,
       generation, heard_ms
FROM execution WHERE status = 'running' AND execution_id > $2 AND heard_ms < $1
ORDER BY execution_id LIMIT $3
"""

START = "SELECT start FROM execution WHERE execution_id = $1"

REGENERATE = """
UPDATE execution SET generation = generation + 1, heard_ms = $3
WHERE execution_id = $1 AND generation = $2 AND status = 'running'
RETURNING execution_id
"""

NODE_RUNS = """
SELECT execution_id, token_id, node_id, status, attempt, at_ms, duration_ms,
       lineage, output, output_ref, error
FROM node_run WHERE execution_id = $1 ORDER BY seq
"""

# Rows that another master folds into right now are left for the next time.
EXPIRED = """
SELECT execution_id FROM execution WHERE ended_ms < $1
ORDER BY ended_ms LIMIT $2 FOR UPDATE SKIP LOCKED
"""

DELETE = (
    "DELETE FROM node_run WHERE execution_id = ANY ($1::text[])",
    "DELETE FROM payload WHERE execution_id = ANY ($1::text[])",
    "DELETE FROM event WHERE execution_id = ANY ($1::text[])",
    "DELETE FROM execution WHERE execution_id = ANY ($1::text[])",
    "DELETE FROM node_log WHERE execution_id = ANY ($1::text[])",
    "DELETE FROM run_control WHERE execution_id = ANY ($1::text[])",
    "DELETE FROM flow_run WHERE execution_id = ANY ($1::text[])",
    "DELETE FROM run_signal WHERE execution_id = ANY ($1::text[])",
    "DELETE FROM listener WHERE execution_id = ANY ($1::text[])",
    "DELETE FROM run_origin WHERE execution_id = ANY ($1::text[])",
    "DELETE FROM run_link WHERE child_id = ANY ($1::text[])",
    # A child run that is still there keeps its depth; of one that never began nothing is left.
    """
    DELETE FROM run_link WHERE parent_id = ANY ($1::text[]) AND NOT EXISTS (
      SELECT FROM execution WHERE execution.execution_id = run_link.child_id)
    """,
)

PUT = """
INSERT INTO payload (execution_id, hash, body) VALUES ($1, $2, $3)
ON CONFLICT (execution_id, hash) DO NOTHING
"""
