"""Start rules and parked runs in PostgreSQL."""

from __future__ import annotations

from onward.adapters.postgres import event_log
from onward.adapters.sql.database import Steps
from onward.adapters.sql.start_rules import TableStartRules
from onward.kernel.messages import CompletionMessage, encode_message
from onward.kernel.run_events import ended_event, number_events, started_event
from onward.ports.storage.start_rules import StartRules

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
_END = """
INSERT INTO execution (execution_id, workflow_id, definition_ref, status, started_ms, ended_ms,
                       completion, begun, last_event)
SELECT execution_id, workflow_id, definition_ref, 'cancelled', at_ms, $2, $3, true, 2
FROM flow_run WHERE execution_id = $1 AND released_ms IS NULL
ON CONFLICT (execution_id) DO NOTHING RETURNING started_ms
"""
_APPEND = "INSERT INTO event (execution_id, seq, body) VALUES ($1, $2, $3)"


class PostgresStartRules(TableStartRules):
    """`StartRules` of a cluster."""

    def _lock(self, flow_key: str) -> Steps[None]:
        yield _LOCK, (flow_key,)

    def _end(self, completion: CompletionMessage, now_ms: int) -> Steps[bool]:
        execution_id = completion.execution_id
        rows = yield _END, (execution_id, now_ms, encode_message(completion))
        for (started_ms,) in rows:
            yield event_log.IN_TURN, ()
            for event in number_events(
                execution_id, [started_event(started_ms), ended_event(completion)], 0
            ):
                yield _APPEND, tuple(event)
            yield event_log.NOTIFY, (event_log.CHANNEL, execution_id)
        return bool(rows)


_conforms: type[StartRules] = PostgresStartRules
