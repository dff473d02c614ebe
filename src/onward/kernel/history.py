"""The history of runs, from status and completion messages: the rules that every store shares.

A store folds the entries of a batch into its tables. The rules make the result independent of the
order of the messages and of how often each one arrives: a visit is written once, an ending is
final, and a run that was never announced is known from the first message that names it.
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
from onward.kernel.records import RunRecord, RunStatus, VisitKey, VisitRecord
from onward.kernel.timestamps import LATEST_MS, from_iso

MAX_TOKEN_ID = 256
MAX_NODE_ID = 1024
"""In bytes: the three names of a visit fit into one key of an index."""
MAX_ATTEMPT = 2**31 - 1
MAX_RUNS_LISTED = 100_000


class RunSighting(NamedTuple):
    """A run that messages name.

    With the latest time at which it can have started, and the time of the newest message.
    """

    execution_id: str
    workflow_id: str
    started_ms: int
    heard_ms: int


class HistoryEntries(NamedTuple):
    """What a batch of messages adds to the history.

    One sighting of each run. Visits and endings are in the order of the messages, and only the
    first of each visit and of each run.
    """

    sightings: list[RunSighting]
    visits: list[VisitRecord]
    endings: list[RunRecord]


def entries_of(
    statuses: Sequence[NodeStatusMessage], completions: Sequence[CompletionMessage]
) -> HistoryEntries:
    """Return the entries of a batch; MessageError for the first that no store could hold."""
    seen: dict[str, RunSighting] = {}
    visits: dict[VisitKey, VisitRecord] = {}
    endings: dict[str, RunRecord] = {}
    for status in statuses:
        at_ms = check_status(status)
        started_ms = at_ms - status.duration_ms
        _see(seen, RunSighting(status.execution_id, status.workflow_id, started_ms, at_ms))
        visit = visit_record_of(status, at_ms)
        if visit is not None:
            visits.setdefault(visit.key, visit)
    for completion in completions:
        ending = _ending(completion)
        ended_ms = ending.ended_ms or 0
        _see(
            seen,
            RunSighting(ending.execution_id, ending.workflow_id, ending.started_ms, ended_ms),
        )
        endings.setdefault(ending.execution_id, ending)
    return HistoryEntries(list(seen.values()), list(visits.values()), list(endings.values()))


def visit_record_of(status: NodeStatusMessage, at_ms: int) -> VisitRecord | None:
    """Return the visit that a status settles, or None when it only reports progress."""
    if is_passing(status):
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
    """Return when it happened, in epoch milliseconds; MessageError if no store could hold it."""
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
    """Return when it ended, in epoch milliseconds; MessageError if no store could hold it."""
    _check_run(completion.execution_id, completion.workflow_id)
    _check_duration(completion.execution_id, "total_duration_ms", completion.total_duration_ms)
    return _moment(completion.execution_id, "completed_at", completion.completed_at)


def check_run_filter(status: str | None, limit: int) -> None:
    """Raise InputError unless runs can be listed by this status and up to this number."""
    known = get_args(RunStatus)
    if status is not None and status not in known:
        raise InputError(f"there is no status {status!r}: give one of {', '.join(known)}")
    if not 1 <= limit <= MAX_RUNS_LISTED:
        raise InputError(f"limit is {limit}: ask for 1 to {MAX_RUNS_LISTED} runs")


def is_passing(status: NodeStatusMessage) -> bool:
    """Return whether a status only reports progress and leaves no line of history."""
    return status.status == "running" or (status.status == "waiting" and status.metadata is None)


def _see(seen: dict[str, RunSighting], sighting: RunSighting) -> None:
    known = seen.setdefault(sighting.execution_id, sighting)
    if sighting.started_ms < known.started_ms or sighting.heard_ms > known.heard_ms:
        first = sighting if sighting.started_ms < known.started_ms else known
        heard_ms = max(sighting.heard_ms, known.heard_ms)
        seen[sighting.execution_id] = first._replace(heard_ms=heard_ms)


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
    # A negative duration is no reason to refuse: a clock that was set back measures one.
    if abs(value) > LATEST_MS:
        raise MessageError(f"{name} {value} of {execution_id} is not a number of milliseconds")


def _moment(execution_id: str, name: str, text: str) -> int:
    try:
        return from_iso(text)
    except ValueError:
        raise MessageError(
            f"{name} {text[:80]!a} of {execution_id} is not an ISO 8601 date and time"
        ) from None
