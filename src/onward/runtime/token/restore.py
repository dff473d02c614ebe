"""What a run had reached, restored from its history."""

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


def restorations(
    program: Program,
    start: Token,
    history: Iterable[tuple[VisitRecord, Raw | None]],
    ended: Container[str] = (),
) -> Iterator[Restore]:
    """Iterate over what history can put on record: each node run comes with its output.

    Only activities, and waits whose end is among the tokens that `ended` well: what else the engine
    itself decided, it decides again, and just the same.
    """
    for run, output in history:
        if run.status == "waiting" and derive(run.token_id, "resume") in ended:
            yield _restore(run, Suspended(run.at_ms))
        there = msgspec.structs.replace(start, current_node=run.node_id, signal="")
        if not program.has_node(there) or not program.runs_activity(there):
            continue
        if run.status == "waiting" and wake_token_id(run.token_id) in ended:
            yield _restore(run, Awaits(name="again", until_ms=run.at_ms))
        outcome = _outcome(run, output)
        if outcome is not None:
            yield _restore(run, outcome)


def _restore(run: VisitRecord, outcome: Outcome) -> Restore:
    body = msgspec.json.encode(outcome)
    return Restore(scope=scope_of(run.lineage), token_id=run.token_id, outcome=body)


def _outcome(run: VisitRecord, output: Raw | None) -> Outcome | None:
    if run.status == "success" and output is not None:
        return Succeeded(output)
    if run.status == "failed" and run.error is not None:
        return Failed(_errors.decode(run.error))
    return None
