"""What a run had reached, restored from its history."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

import msgspec
from msgspec import Raw

from onward.kernel.effects import Restore
from onward.kernel.ids import derive
from onward.kernel.lineage import scope_of
from onward.kernel.messages import Token
from onward.kernel.outcome import Awaits, Failed, NodeError, Outcome, Succeeded, Suspended
from onward.kernel.program import Program
from onward.kernel.records import VisitRecord
from onward.kernel.signal_waits import wake_token_id

_errors = msgspec.json.Decoder(NodeError)


def restorations_of(
    program: Program,
    start: Token,
    history: Iterable[tuple[VisitRecord, Raw | None]],
    ended: Container[str] = (),
) -> Iterator[Restore]:
    """Iterate over the outcomes that history can put on record; each visit comes with its output.

    Only activities, and waits whose end is among the tokens that `ended` well: everything else was
    decided by the engine, which decides it again in the same way.
    """
    for visit, output in history:
        if visit.status == "waiting" and derive(visit.token_id, "resume") in ended:
            yield _restore(visit, Suspended(visit.at_ms))
        at_node = msgspec.structs.replace(start, current_node=visit.node_id, signal="")
        if not program.has_node(at_node) or not program.runs_activity(at_node):
            continue
        if visit.status == "waiting" and wake_token_id(visit.token_id) in ended:
            yield _restore(visit, Awaits(name="again", until_ms=visit.at_ms))
        outcome = _outcome_of(visit, output)
        if outcome is not None:
            yield _restore(visit, outcome)


def _restore(visit: VisitRecord, outcome: Outcome) -> Restore:
    body = msgspec.json.encode(outcome)
    return Restore(scope=scope_of(visit.lineage), token_id=visit.token_id, outcome=body)


def _outcome_of(visit: VisitRecord, output: Raw | None) -> Outcome | None:
    if visit.status == "success" and output is not None:
        return Succeeded(output)
    if visit.status == "failed" and visit.error is not None:
        return Failed(_errors.decode(visit.error))
    return None
