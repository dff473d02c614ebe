"""What status and completion messages say about the past: the rules that every store shares.

A store folds the entries of a batch into its tables. The rules make the result independent of the
order of the messages and of how often each one comes: a visit is written once, an ending is final,
and a run that was never announced is known from the first message that speaks of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, get_args

import msgspec

from onward.errors import InputError, MessageError
from onward.kernel.messages import (
    CompletionMessage,
    NodeStatusMessage,
    check_identifier,
    encode_message,
)
from onward.kernel.records import RunRecord, RunStatus, VisitRecord
from onward.kernel.timestamps import LATEST_MS, from_iso

MAX_TOKEN_ID = 256
MAX_NODE_ID = 1024
"""In bytes: the three names of a visit fit into one key of an index."""
MAX_ATTEMPT = 2**31 - 1
MAX_LISTED = 100_000


class VisitSighting(NamedTuple):
    """A run that messages speak of.

    With the latest moment at which it can have started, and the last one they tell of.
    """

    execution_id: str
    workflow_id: str
    started_ms: int
    heard_ms: int


class HistoryEntries(NamedTuple):
    """What a batch of messages adds to the history.

    One sighting of each run. Node runs and endings are in the order of the messages, and only the
    first of each visit and of each run.
    """

    sightings: list[VisitSighting]
    node_runs: list[VisitRecord]
    endings: list[RunRecord]


def entries_of(
    statuses: Sequence[NodeStatusMessage], completions: Sequence[CompletionMessage]
) -> HistoryEntries:
    """Return what the messages say; MessageError for the first that no store could keep."""
    seen: dict[str, VisitSighting] = {}
    visits: dict[tuple[str, str, str], VisitRecord] = {}
    endings: dict[str, RunRecord] = {}
    for status in statuses:
        at_ms = check_status(status)
        started_ms = at_ms - status.duration_ms
        _see(seen, VisitSighting(status.execution_id, status.workflow_id, started_ms, at_ms))
        run = visit_record_of(status, at_ms)
        if run is not None:
            visits.setdefault((run.execution_id, run.token_id, run.node_id), run)
    for completion in completions:
        ending = _ending(completion)
        ended_ms = ending.ended_ms or 0
        _see(
            seen,
            VisitSighting(ending.execution_id, ending.workflow_id, ending.started_ms, ended_ms),
        )
        endings.setdefault(ending.execution_id, ending)
    return HistoryEntries(list(seen.values()), list(visits.values()), list(endings.values()))


def visit_record_of(status: NodeStatusMessage, at_ms: int) -> VisitRecord | None:
    """Return the line of history for a status, or None when it is only news of progress."""
    passing = status.status == "waiting" and status.metadata is None
    if status.status == "running" or passing:
        return None
    return VisitRecord(
        execution_id=status.execution_id,
        token_id=status.token_id,
        node_id=status.node_id,
        status=status.status,
        attempt=status.attempt,
        at_ms=at_ms,
        duration_ms=status.duration_ms,
        lineage=status.lineage_stack,
        output=status.output,
        output_ref=status.output_ref,
        error=msgspec.json.encode(status.error) if status.error else None,
        log=status.log,
    )


def check_status(status: NodeStatusMessage) -> int:
    """Return when it happened, in epoch milliseconds; MessageError if no store could keep it."""
    _check_run(status.execution_id, status.workflow_id)
    _check_text(status, "node_id", status.node_id, MAX_NODE_ID)
    _check_text(status, "token_id", status.token_id, MAX_TOKEN_ID)
    if not 1 <= status.attempt <= MAX_ATTEMPT:
        raise MessageError(
            f"attempt {status.attempt} of {status.execution_id} must be from 1 to {MAX_ATTEMPT}"
        )
    _check_duration(status.execution_id, "duration_ms", status.duration_ms)
    return _moment(status.execution_id, "executed_at", status.executed_at)


def check_completion(completion: CompletionMessage) -> int:
    """Return when it ended, in epoch milliseconds; MessageError if no store could keep it."""
    _check_run(completion.execution_id, completion.workflow_id)
    _check_duration(completion.execution_id, "total_duration_ms", completion.total_duration_ms)
    return _moment(completion.execution_id, "completed_at", completion.completed_at)


def check_request(status: str | None, limit: int) -> None:
    """Raise InputError unless runs can be listed by this status and up to this number."""
    known = get_args(RunStatus)
    if status is not None and status not in known:
        raise InputError(f"there is no status {status!r}: give one of {', '.join(known)}")
    if not 1 <= limit <= MAX_LISTED:
        raise InputError(f"limit is {limit}: ask for 1 to {MAX_LISTED} runs")


def _see(seen: dict[str, VisitSighting], one: VisitSighting) -> None:
    known = seen.setdefault(one.execution_id, one)
    if one.started_ms < known.started_ms or one.heard_ms > known.heard_ms:
        first = one if one.started_ms < known.started_ms else known
        seen[one.execution_id] = first._replace(heard_ms=max(one.heard_ms, known.heard_ms))


def _ending(completion: CompletionMessage) -> RunRecord:
    ended_ms = check_completion(completion)
    return RunRecord(
        execution_id=completion.execution_id,
        workflow_id=completion.workflow_id,
        definition_ref="",
        status=completion.status,
        started_ms=ended_ms - completion.total_duration_ms,
        ended_ms=ended_ms,
        completion=encode_message(completion),
    )


def _check_run(execution_id: str, workflow_id: str) -> None:
    check_identifier("execution_id", execution_id)
    check_identifier("workflow_id", workflow_id)


def _check_text(status: NodeStatusMessage, name: str, value: str, limit: int) -> None:
    try:
        fits = "\0" not in value and len(value.encode()) <= limit
    except UnicodeEncodeError:
        fits = False
    if not fits:
        raise MessageError(
            f"{name} {value[:80]!a} of {status.execution_id} must be Unicode text without NUL,"
            f" of {limit} bytes at most"
        )


def _check_duration(execution_id: str, name: str, value: int) -> None:
    # Below zero is no reason to refuse: it is what a clock that was set back measures.
    if abs(value) > LATEST_MS:
        raise MessageError(f"{name} {value} of {execution_id} is not a number of milliseconds")


def _moment(execution_id: str, name: str, text: str) -> int:
    try:
        return from_iso(text)
    except ValueError:
        raise MessageError(
            f"{name} {text[:80]!a} of {execution_id} is not an ISO 8601 date and time"
        ) from None
