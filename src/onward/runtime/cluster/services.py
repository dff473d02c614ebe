"""What a worker depends on, in one frozen object that is built once and passed down."""

from __future__ import annotations

from dataclasses import dataclass

from onward.ports.clock import Chance, Clock
from onward.ports.cluster.bus import Bus
from onward.ports.cluster.coordinator import Coordinator
from onward.ports.cluster.liveness import RunLiveness
from onward.ports.cluster.run_endings import RunEndings
from onward.ports.cluster.timers import Timers
from onward.ports.cluster.workers import Holdings, Leases, WorkerRegistry
from onward.ports.nodes.outside import Log
from onward.runtime.activity.evaluators import Evaluators
from onward.runtime.activity.node_logs import NodeLogBuffer
from onward.runtime.activity.outcome_callbacks import OutcomeCallbacks
from onward.runtime.activity.runner import ActivityRunner
from onward.runtime.cluster.payload_cache import PayloadCache
from onward.runtime.cluster.starter import RunAdmission
from onward.runtime.instrumentation import UNWATCHED, Instrumentation
from onward.runtime.token.programs import Programs


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerServices:
    """What a worker depends on."""

    bus: Bus
    coordinator: Coordinator
    timers: Timers
    leases: Leases
    holdings: Holdings
    workers: WorkerRegistry
    liveness: RunLiveness
    endings: RunEndings
    admission: RunAdmission
    payloads: PayloadCache
    programs: Programs
    activities: ActivityRunner
    evaluators: Evaluators
    callbacks: OutcomeCallbacks
    """To be called when the outcome of an activity is committed."""
    node_logs: NodeLogBuffer | None
    """The log lines of nodes, until their visit is reported."""
    clock: Clock
    chance: Chance
    log: Log
    instrumentation: Instrumentation = UNWATCHED
