"""What a worker stands on, in one frozen object that is built once and passed down."""

from __future__ import annotations

from dataclasses import dataclass

from weft.ports.bus import Bus
from weft.ports.clock import Chance, Clock
from weft.ports.coordinator import Coordinator
from weft.ports.endings import Endings
from weft.ports.holding import Holdings, Leases, Roster
from weft.ports.outside import Log
from weft.ports.pulse import Pulses
from weft.ports.timers import Timers
from weft.runtime.activities import Activities
from weft.runtime.admission import Admission
from weft.runtime.payload_cache import PayloadCache
from weft.runtime.programs import Programs
from weft.runtime.watching import UNWATCHED, Watch


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
