"""The control nodes: where a run starts, branches, splits, joins and waits, and what it computes.

Each class holds the parameters of one node type. None of these nodes touches the world, so none has
`run`: `step` decides their outcome, matching on these types. Read them in the order of
`ControlNode` at the end, the sum of all of them.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from onward.ports.nodes.node import Catalogue

Seconds = Annotated[float, Meta(gt=0, le=3_155_760_000, description="seconds, at most 100 years")]
Jq = Annotated[str, Meta(min_length=1, description="a jq expression, braces optional")]
EdgeId = Annotated[str, Meta(min_length=1, description="the id of an edge that leaves this node")]
_PERCENT = r"^(100|[0-9]{1,2}(\.[0-9]{1,6})?)%$"
# Only shown in the schema: the check below says in words what a regular expression cannot.
Percent = Annotated[str, Meta(extra_json_schema={"pattern": _PERCENT})]
SignalName = Annotated[
    str,
    Meta(
        pattern=r"^[a-zA-Z0-9_-]{1,64}$",
        description="letters, digits, _ and -, 64 at most",
    ),
]
SignalKey = Annotated[str, Meta(max_length=200)]
Person = Annotated[str, Meta(min_length=1, max_length=200)]

UNIT_MS = {"seconds": 1_000, "minutes": 60_000, "hours": 3_600_000, "days": 86_400_000}
_LONGEST_WAIT_MS = 3_155_760_000_000  # 100 years: beyond it dates leave the calendar


# -- starts and branches -------------------------------------------------------------------------


class ManualTriggerNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Start a run by hand; the output is the run's input."""


class ConditionalNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Take one of two edges, by whether `expression` is true.

    jq's truth: everything but `false` and `null` is true. The output is `{result}`. An edge that
    is not named ends the path on that side.
    """

    expression: Jq
    true_edge_id: EdgeId | None = None
    false_edge_id: EdgeId | None = None


class SwitchCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One case of a switch: the edge to take when `when` is true."""

    when: Jq
    edge_id: EdgeId


class SwitchNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Take the edge of the first case that is true, else the default edge.

    The output is `{case}`: the case's index, or "default". Without a default edge the path ends
    when no case is true.
    """

    cases: Annotated[tuple[SwitchCase, ...], Meta(min_length=1)]
    default_edge_id: EdgeId | None = None


# -- splits and joins ----------------------------------------------------------------------------


class SplitNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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


class AggregatorNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Gather the items of a split into one list, in item order.

    An entry is the output of the node before the aggregator, or what `collect` makes of the
    item's context. An item that ended early is null, a failed one `{"error": ...}`. When items
    are still missing after `timeout` seconds the node fails.
    """

    timeout: Seconds | None = None
    collect: Jq | None = None


class MergeNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Join branches: wait for all, any or `n` of them; the output lists theirs in edge order.

    A branch that can no longer arrive is not waited for. When the others have not arrived
    after `timeout` seconds the node fails.
    """

    mode: Literal["append"] = "append"
    wait_mode: Literal["wait_for_all", "wait_for_any", "wait_for_n"] = "wait_for_all"
    n: Annotated[int, Meta(ge=1)] | None = None
    timeout: Seconds | None = None

    def __post_init__(self) -> None:
        """Refuse a count that is missing, or has no meaning."""
        if self.wait_mode == "wait_for_n" and self.n is None:
            raise ValueError(
                "`wait_mode: wait_for_n` needs `n`, the number of branches to wait for"
            )
        if self.wait_mode != "wait_for_n" and self.n is not None:
            raise ValueError(f"`n` has no meaning with `wait_mode: {self.wait_mode}`: remove it")


# -- waits for time ------------------------------------------------------------------------------


class WaitNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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
        if self.amount * UNIT_MS[self.unit] > _LONGEST_WAIT_MS:
            raise ValueError(f"`amount`: {self.amount:g} {self.unit} is longer than 100 years")


def _check_date(text: str) -> None:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"`until`: {text[:60]!r} is not an ISO 8601 date and time such as 2030-01-31T09:00:00Z"
        ) from None


# -- waits for people and other systems ----------------------------------------------------------


class WaitForSignalNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Pause the path until a signal arrives; the output is its value.

    A signal that arrives before is stored, and each is taken by one wait. `key` distinguishes
    signals of one name; without it, inside a split, it is the item (`users[5]`). When none has
    arrived after `timeout` seconds, `expired_edge_id` is taken and the output is `{expired_at}`;
    without that edge the node fails.
    """

    signal: SignalName
    key: SignalKey | int | None = None
    timeout: Seconds | None = None
    expired_edge_id: EdgeId | None = None

    def __post_init__(self) -> None:
        """Refuse an edge for a time that never comes."""
        _check_expiry(self.timeout, self.expired_edge_id)


class ApprovalNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Pause the path until people have decided; the output has who, when and why.

    Each of the `approvers` has a link of their own, which decides once. `required` of them (null:
    all) must approve; when so many have rejected that they cannot, it is rejected. With
    `approved_edge_id` and `rejected_edge_id` the decision is a branch; without the latter the node
    fails when it is rejected. When nothing is decided after `timeout` seconds, `expired_edge_id` is
    taken, or the node fails.
    """

    approvers: Annotated[tuple[Person, ...], Meta(min_length=1, max_length=100)]
    required: Annotated[int, Meta(ge=1)] | None = None
    message: Annotated[str, Meta(max_length=2_000)] = ""
    timeout: Seconds | None = None
    approved_edge_id: EdgeId | None = None
    rejected_edge_id: EdgeId | None = None
    expired_edge_id: EdgeId | None = None

    def __post_init__(self) -> None:
        """Refuse a decision that can never be made."""
        _check_expiry(self.timeout, self.expired_edge_id)
        people = len(set(self.approvers))
        if people != len(self.approvers):
            raise ValueError("`approvers`: a name is listed twice")
        if self.required is not None and self.required > people:
            raise ValueError(f"`required`: {self.required} of {people} approvers is impossible")


def _check_expiry(timeout: float | None, edge: str | None) -> None:
    if edge is not None and timeout is None:
        raise ValueError("`expired_edge_id` needs `timeout`: without one nothing expires")


# -- values --------------------------------------------------------------------------------------


class TransformNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Build a value with jq from everything that is known so far; the output is that value."""

    expression: Jq


class LogNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Write a line to the log; the output is `{message, level}`."""

    message: Any = ""
    level: Literal["debug", "info", "warning", "error"] = "info"


class NoopNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Do nothing; the output is `{}`."""


class FailNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fail, with a message and a code that a retry or an error edge can see."""

    message: str = "this node always fails"
    code: Annotated[str, Meta(min_length=1, max_length=100)] = "FAILED"


# -- the catalogue -------------------------------------------------------------------------------

ControlNode = (
    ManualTriggerNode
    | ConditionalNode
    | SwitchNode
    | SplitNode
    | AggregatorNode
    | MergeNode
    | WaitNode
    | WaitForSignalNode
    | ApprovalNode
    | TransformNode
    | LogNode
    | NoopNode
    | FailNode
)


def register_control_nodes(catalogue: Catalogue) -> None:
    """Add the control nodes to a catalogue."""
    control = (
        ("manual_trigger", ManualTriggerNode, ()),
        ("conditional", ConditionalNode, ("expression",)),
        ("switch", SwitchNode, ("cases/*/when",)),
        ("split", SplitNode, ()),
        ("aggregator", AggregatorNode, ("collect",)),
        ("merge", MergeNode, ()),
        ("wait", WaitNode, ()),
        ("wait_for_signal", WaitForSignalNode, ()),
        ("approval", ApprovalNode, ()),
        ("transform", TransformNode, ("expression",)),
        ("log", LogNode, ()),
        ("noop", NoopNode, ()),
        ("fail", FailNode, ()),
    )
    for name, parameters, expressions in control:
        catalogue.register(name, effect="control", expressions=expressions)(parameters)
