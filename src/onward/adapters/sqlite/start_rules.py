"""Start rules and parked runs, in the file of the journal."""

from __future__ import annotations

from onward.adapters.sql.database import Steps
from onward.adapters.sql.start_rules import TableStartRules
from onward.kernel.messages import CompletionMessage, encode_message
from onward.kernel.run_events import ended_event, number_events, started_event
from onward.ports.storage.start_rules import StartRules

_END = """
INSERT INTO execution
SELECT execution_id, workflow_id, definition_ref, 'cancelled', at_ms, $2, $3
FROM flow_run WHERE execution_id = $1 AND released_ms IS NULL
ON CONFLICT (execution_id) DO NOTHING RETURNING execution_id
"""
_APPEND = "INSERT INTO event (execution_id, seq, body) VALUES ($1, $2, $3)"


class SqliteStartRules(TableStartRules):
    """`StartRules` of an embedded engine."""

    def _lock(self, flow_key: str) -> Steps[None]:
        """Do nothing: a transaction is alone in the file."""
        yield from ()

    def _end(self, completion: CompletionMessage, now_ms: int) -> Steps[bool]:
        execution_id = completion.execution_id
        if not (yield _END, (execution_id, now_ms, encode_message(completion))):
            return False
        for event in number_events(
            execution_id, [started_event(now_ms), ended_event(completion)], 0
        ):
            yield _APPEND, tuple(event)
        return True


_conforms: type[StartRules] = SqliteStartRules
