"""What a worker stands on, in one frozen object that is built once and passed down."""

from __future__ import annotations

from dataclasses import dataclass

from onward.ports.bus import Bus
from onward.ports.clock import Chance, Clock
from onward.ports.coordinator import Coordinator
from onward.ports.endings import Endings
from onward.ports.holding import Holdings, Leases, Roster
from onward.ports.outside import Log
from onward.ports.pulse import Pulses
from onward.ports.timers import Timers
from onward.runtime.activities import Activities
from onward.runtime.admission import Admission
from onward.runtime.payload_cache import PayloadCache
from onward.runtime.programs import Programs
from onward.runtime.watching import UNWATCHED, Watch


@dataclass(frozen=True, slots=True)
class Services:
    """What a worker stands on."""

    bus: Bus
    coordinator: Coordinator
    timers: Timers
    leases: Leases
    holdings: Holdings
    roster: Roster
    pulses: Pulses
    endings: Endings
    admission: Admission
    payloads: PayloadCache
    programs: Programs
    activities: Activities
    clock: Clock
    chance: Chance
    log: Log
    watch: Watch = UNWATCHED
