"""Parameters of the nodes that steer a run: where it starts, forks, joins and waits.

None of these touches the world, so none has `run`: the graph language carries out what they ask.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Seconds = Annotated[float, Meta(gt=0, le=3_155_760_000, description="seconds, at most 100 years")]
Jq = Annotated[str, Meta(min_length=1, description="a jq expression, braces optional")]
EdgeId = Annotated[str, Meta(min_length=1, description="the id of an edge that leaves this node")]
_PERCENT = r"^(100|[0-9]{1,2}(\.[0-9]{1,6})?)%$"
# Only shown in the schema: the check below says in words what a regular expression cannot.
Percent = Annotated[str, Meta(extra_json_schema={"pattern": _PERCENT})]

_SECONDS_IN = {"seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400}
_LONGEST_WAIT_S = 3_155_760_000  # 100 years: beyond it dates leave the calendar


class ManualTrigger(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Start a run by hand; the output is the run's input."""


class Conditional(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Take one of two edges, by whether `expression` is true.

    jq's truth: everything but `false` and `null` is true. The output is `{result}`. An edge that
    is not named ends the path on that side.
    """

    expression: Jq
    true_edge_id: EdgeId | None = None
    false_edge_id: EdgeId | None = None


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One case of a switch: the edge to take when `when` is true."""

    when: Jq
    edge_id: EdgeId


class Switch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Take the edge of the first case that is true, else the default edge.

    The output is `{case}`: the case's index, or "default". Without a default edge the path ends
    when no case is true.
    """

    cases: Annotated[tuple[Case, ...], Meta(min_length=1)]
    default_edge_id: EdgeId | None = None


class Split(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Run what follows once for each item of an array, up to the aggregator.

    Items see `$item` and `$index`. At most `max_concurrency` are in flight (null: no limit). With
    a `batch_size` above 1, `$item` is a list of that many items and the aggregator has one entry
    for each batch. `tolerated_failures` is how many items may fail before the split does: a
    number, a share such as "10%", or null for any number. `on_item_error: halt` fails the split
    with its first failed item.
    """

    input_array: Any
    max_concurrency: Annotated[int, Meta(ge=1)] | None = None
    batch_size: Annotated[int, Meta(ge=1)] = 1
    tolerated_failures: Annotated[int, Meta(ge=0)] | Percent | None = None
    on_item_error: Literal["collect", "halt"] = "collect"

    def __post_init__(self) -> None:
        """Refuse a share that is not a percentage."""
        share = self.tolerated_failures
        if isinstance(share, str) and not re.fullmatch(_PERCENT[1:-1], share):
            raise ValueError(
                f"`tolerated_failures`: {share[:40]!r} is not a number or a share such as '10%'"
            )


class Aggregator(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Gather the items of a split into one list, in item order.

    An entry is the output of the node before the aggregator, or what `collect` makes of the
    item's context. An item that ended early is null, a failed one `{"error": ...}`. When items
    are still missing after `timeout` seconds the node fails.
    """

    timeout: Seconds | None = None
    collect: Jq | None = None


class Merge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Join branches: wait for all, any or `n` of them; the output lists theirs in edge order.

    A branch that can no longer arrive is not waited for. When the others have not come after
    `timeout` seconds the node fails.
    """

    mode: Literal["append"] = "append"
    wait_mode: Literal["wait_for_all", "wait_for_any", "wait_for_n"] = "wait_for_all"
    n: Annotated[int, Meta(ge=1)] | None = None
    timeout: Seconds | None = None

    def __post_init__(self) -> None:
        """Refuse a count that is missing, or given where it means nothing."""
        if self.wait_mode == "wait_for_n" and self.n is None:
            raise ValueError(
                "`wait_mode: wait_for_n` needs `n`, the number of branches to wait for"
            )
        if self.wait_mode != "wait_for_n" and self.n is not None:
            raise ValueError(f"`n` has no meaning with `wait_mode: {self.wait_mode}`: remove it")


class Wait(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Pause the path for a time, or until a date; the output is `{resumed_at}`.

    `until` is an ISO 8601 date and time; without an offset it is UTC. A date in the past resumes
    at once.
    """

    resume: Literal["time_interval", "until"] = "time_interval"
    amount: Annotated[float, Meta(ge=0)] = 1
    unit: Literal["seconds", "minutes", "hours", "days"] = "seconds"
    until: str | None = None

    def __post_init__(self) -> None:
        """Refuse a wait that does not say for how long."""
        if self.resume == "until":
            if self.until is None:
                raise ValueError("`resume: until` needs `until`, an ISO 8601 date and time")
            _check_date(self.until)
            return
        if self.amount * _SECONDS_IN[self.unit] > _LONGEST_WAIT_S:
            raise ValueError(f"`amount`: {self.amount:g} {self.unit} is longer than 100 years")


def _check_date(text: str) -> None:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"`until`: {text[:60]!r} is not an ISO 8601 date and time such as 2030-01-31T09:00:00Z"
        ) from None
