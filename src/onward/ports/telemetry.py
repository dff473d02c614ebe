"""Telemetry: every metric by name, the place of a span in its trace, and the ports for both.

A label of a metric is always one of few: a queue, a node type, an outcome. Nothing that a run
brings with it (its id, its workflow, its items) may be one, or a million runs would be a million
series.

Each run has a trace, each execution of a node a span. Ids follow from what they name: the trace
from the run, a span from the token. A redelivery reports its span again under the same id, in the
same trace, and its successors find their parent there even when the first worker died before it
could report.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Protocol

from onward.kernel.ids import derive
from onward.kernel.messages import CompletionMessage, Token

Kind = Literal["counter", "gauge", "histogram"]

_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
_ZEROES = {32 * "0", 16 * "0"}
_QUICK = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SLOW = (0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
_LATE = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """One metric. Its name is as Prometheus shows it, with its unit."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


class Meter(Protocol):
    """Records numbers. Called for every message: it must cost next to nothing."""

    def add(self, metric: Metric, *labels: str, amount: float = 1) -> None:
        """Increase a counter, or change a gauge, by an amount."""
        ...

    def observe(self, metric: Metric, value: float, *labels: str) -> None:
        """Add a value to a histogram."""
        ...

    def set(self, metric: Metric, value: float, *labels: str) -> None:
        """Set a gauge."""
        ...


class NoMeter:
    """Measures nothing."""

    def add(self, metric: Metric, *labels: str, amount: float = 1) -> None: ...

    def observe(self, metric: Metric, value: float, *labels: str) -> None: ...

    def set(self, metric: Metric, value: float, *labels: str) -> None: ...


UNMEASURED = NoMeter()

BUILD = Metric(
    "onward_build_info", "gauge", "Always 1; the label is the version that runs.", ("version",)
)
CONSUMED = Metric(
    "onward_messages_consumed_total", "counter", "Messages taken from a queue.", ("queue",)
)
REDELIVERED = Metric(
    "onward_messages_redelivered_total",
    "counter",
    "Messages taken that had been delivered before.",
    ("queue",),
)
ACKED = Metric("onward_messages_acked_total", "counter", "Messages acknowledged.", ("queue",))
GIVEN_BACK = Metric(
    "onward_messages_given_back_total", "counter", "Messages returned unhandled.", ("queue",)
)
IN_HAND = Metric("onward_messages_in_hand", "gauge", "Messages taken and not settled.", ("queue",))
PUBLISHED = Metric(
    "onward_messages_published_total", "counter", "Messages confirmed by the broker.", ("queue",)
)
PUBLISH_FAILED = Metric(
    "onward_publish_failures_total", "counter", "Messages that were not confirmed.", ("queue",)
)
PUBLISH_SECONDS = Metric(
    "onward_publish_confirm_seconds",
    "histogram",
    "From publishing a message to its confirm.",
    ("queue",),
    _QUICK,
)
TROUBLE = Metric(
    "onward_trouble_retries_total",
    "counter",
    "Messages delayed because a service, not their node, failed.",
    ("delay",),
)
QUARANTINED = Metric("onward_quarantined_total", "counter", "Messages put into quarantine.")
CLAIMS = Metric(
    "onward_claims_total",
    "counter",
    "Answers of the coordinator: run, follow, finish, or why a message was dropped.",
    ("verdict",),
)
CLAIM_SECONDS = Metric(
    "onward_claim_seconds", "histogram", "How long the coordinator took to answer.", (), _QUICK
)
COORDINATOR_FAILED = Metric(
    "onward_coordinator_failures_total", "counter", "Requests that the coordinator did not answer."
)
EXECUTIONS = Metric(
    "onward_node_executions_total",
    "counter",
    "Executions of nodes, by outcome.",
    ("type", "outcome"),
)
EXECUTION_SECONDS = Metric(
    "onward_node_duration_seconds",
    "histogram",
    "From taking a node up to publishing its outcome.",
    ("type",),
    _SLOW,
)
NODE_RETRIES = Metric(
    "onward_node_retries_total",
    "counter",
    "Second and later attempts, by the node's own retry policy.",
    ("type",),
)
SLOTS = Metric("onward_worker_slots", "gauge", "How many nodes may run at once.")
SLOTS_USED = Metric("onward_worker_slots_used", "gauge", "How many nodes are running.")
RUNS_ENDED = Metric(
    "onward_runs_ended_total", "counter", "Runs that ended, by status.", ("status",)
)
RUN_SECONDS = Metric(
    "onward_run_duration_seconds", "histogram", "From the start of a run to its end.", (), _SLOW
)
FOLDED = Metric("onward_statuses_folded_total", "counter", "Statuses written into the history.")
FOLD_SECONDS = Metric(
    "onward_fold_seconds", "histogram", "How long writing one batch took.", (), _QUICK
)
UNREADABLE = Metric(
    "onward_unreadable_messages_total",
    "counter",
    "Statuses that no master could read.",
    ("queue",),
)
STORE_OUTAGES = Metric(
    "onward_store_outages_total", "counter", "Times that writing failed because of the store."
)
TIMERS_FIRED = Metric("onward_timers_fired_total", "counter", "Timers whose token was sent.")
TIMER_LATENESS = Metric(
    "onward_timer_lateness_seconds",
    "histogram",
    "How long after its time a wait or a retry was sent.",
    (),
    _LATE,
)
RECONNECTS = Metric(
    "onward_reconnects_total", "counter", "Connections opened again after a loss.", ("service",)
)
RESTARTS = Metric(
    "onward_outages_total",
    "counter",
    "Restarts of the process because a service was down.",
)

METRICS = tuple(metric for metric in list(globals().values()) if isinstance(metric, Metric))
"""Every metric there is."""

_conforms: type[Meter] = NoMeter


# -- traces ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mark:
    """The place of a span in its trace: the W3C `traceparent`, taken apart."""

    trace: str
    span: str
    sampled: bool = True

    def __str__(self) -> str:
        """Return the `traceparent` header."""
        return f"00-{self.trace}-{self.span}-{int(self.sampled):02x}"


def root_of(execution_id: str) -> Mark:
    """Return the mark of a run as a whole."""
    return Mark(derive("trace", execution_id), derive("run", execution_id)[:16])


def parent_of(token: Token) -> Mark:
    """Return the parent of a token's span: its `traceparent`, or the run when it has none."""
    found = _PARENT.fullmatch(token.traceparent)
    if found is None or not _ZEROES.isdisjoint(found.groups()):
        return root_of(token.execution_id)
    return Mark(found[1], found[2], bool(int(found[3], 16) & 1))


def mark_of(token: Token) -> Mark:
    """Return the mark of the execution of a token."""
    parent = parent_of(token)
    span = derive("span", token.execution_id, token.token_id)[:16]
    return Mark(parent.trace, span, parent.sampled)


class Tracer(Protocol):
    """Records spans that have ended."""

    def now_ns(self) -> int:
        """Return the time in epoch nanoseconds, for spans."""
        ...

    def executed(
        self, token: Token, node_type: str, outcome: str, start_ns: int, end_ns: int
    ) -> None:
        """Record one execution of a node, with the kind of its outcome.

        `token` is as it was delivered: its `traceparent` is the parent.
        """
        ...

    def ended(self, completion: CompletionMessage) -> None:
        """Record a run as a whole: the root of its own trace."""
        ...
