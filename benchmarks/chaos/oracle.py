"""The judgement: what an undisturbed run comes to, what was seen, and which promises are broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from onward.simulation.checkers import comparable_value

Promise = Literal["lost", "doubled", "stuck", "wrong", "left behind", "slow", "died", "unfinished"]
PROMISES: tuple[Promise, ...] = (
    *("lost", "doubled", "stuck", "wrong", "left behind", "slow", "died", "unfinished"),
)

FURNITURE = frozenset({"onward:format"})
"""Keys that belong to the cluster and not to any run."""

NEWS = frozenset({"waiting"})
"""Statuses on the way: a worker that dies after its timer is set and before it has told so need not
tell it again. What a visit came to must be told."""

Visit = tuple[str, str, str]
"""A node, the items it is inside, and what it came to."""


@dataclass(frozen=True, slots=True)
class Peace:
    """What a run comes to when nothing goes wrong."""

    status: str
    context: Any
    visits: Counter[Visit]
    effects: frozenset[str] = frozenset()
    racing: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """One run of the load, as it was found at the end."""

    run: str
    accepted: bool = True
    """Whether its start was confirmed; if not, it may also never have been."""
    status: str | None = None
    """How it ended; None if it did not."""
    context: Any = None
    visits: Counter[Visit] = field(default_factory=Counter)
    effects: Mapping[str, Counter[str]] = field(default_factory=dict)
    """Visit -> idempotency key -> requests."""
    held: bool = False
    """Whether the coordinator still knows it as alive."""
    cause: str = ""
    """Why it failed, or why a message of it is in quarantine."""
    wiped: bool = False
    """Whether the coordinator forgot everything while it ran."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A promise that was not kept."""

    promise: Promise
    what: str
    run: str = ""

    def __str__(self) -> str:
        return f"{self.promise}: {self.run + ' ' if self.run else ''}{self.what}"


def judge(seen: Seen, peace: Peace) -> list[Problem]:
    """Return what is wrong with a run."""
    problems = [Problem("doubled", what, seen.run) for what in _doubled(seen, peace)]
    if seen.status is None:
        if seen.wiped and seen.cause:
            return problems
        if seen.held:
            return [*problems, Problem("stuck", "has not ended", seen.run)]
        if seen.accepted:
            return [*problems, Problem("lost", "has not ended, and nothing moves it", seen.run)]
        return problems
    if seen.wiped and seen.status == "failed" and seen.cause:
        return problems
    if not seen.accepted and seen.status == "failed" and "could not be started" in seen.cause:
        return problems
    return [*problems, *(Problem("wrong", what, seen.run) for what in _wrong(seen, peace))]


def _doubled(seen: Seen, peace: Peace) -> Iterable[str]:
    allowed = peace.visits
    for visit, count in seen.visits.items():
        node, item, status = visit
        # Which branches of a race are followed is open, but none of them twice.
        most = max(1, allowed[visit]) if peace.racing else allowed[visit]
        if count > most and (status == "success" or allowed[visit]):
            yield f"visited {_place(node, item)} {count} times with {status}, not {most}"
    for visit_name, keys in seen.effects.items():
        if len(keys) > 1:
            yield f"asked for {visit_name} under {len(keys)} idempotency keys: {sorted(keys)}"


def _wrong(seen: Seen, peace: Peace) -> Iterable[str]:
    if seen.status != peace.status:
        yield f"is {seen.status} ({seen.cause or 'no cause'}), not {peace.status}"
        return
    if seen.context != peace.context:
        yield f"came to {seen.context!r}, not {peace.context!r}"
    if peace.racing:
        return
    for (node, item, status), count in (peace.visits - seen.visits).items():
        if status in NEWS:
            continue
        yield f"lacks {count} of the visits of {_place(node, item)} with {status}"
    for node, item, status in seen.visits.keys() - peace.visits.keys():
        yield f"has a visit of {_place(node, item)} with {status} that is none of the workflow's"
    missing = peace.effects - seen.effects.keys()
    if missing:
        yield f"never asked for {', '.join(sorted(missing))}"


def _place(node: str, item: str) -> str:
    return f"{node} in {item}" if item else node


def left_behind(
    keys: Iterable[str], messages: Mapping[str, int], *, quarantine_allowed: bool
) -> list[Problem]:
    """Return what should be gone when all runs are over: everything but tombstones.

    Timers are keys too.
    """
    left = [key for key in keys if key not in FURNITURE and not _tombstone(key)]
    problems = [Problem("left behind", f"key {key}") for key in left]
    for queue, count in messages.items():
        if count and not (quarantine_allowed and queue == "workflow.quarantine"):
            problems.append(Problem("left behind", f"{count} messages in {queue}"))
    return problems


def _tombstone(key: str) -> bool:
    return key.startswith("exec:{") and key.endswith("}:done")


def comparable(context: Mapping[str, Any], *, racing: bool) -> Any:
    """Return the part of a final context on which honest runs agree."""
    chosen = {"$end": context.get("$end")} if racing else context
    return _without_answers(comparable_value(chosen))


def _without_answers(value: Any) -> Any:
    """Keep only the status of an HTTP answer: its headers and duration differ each time."""
    if isinstance(value, dict):
        if {"status", "headers", "duration_ms"} <= value.keys():
            return {"status": value["status"]}
        return {key: _without_answers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_answers(item) for item in value]
    return value
