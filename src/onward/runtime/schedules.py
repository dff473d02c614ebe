"""When schedules are due. Everything here is a function of its arguments; time is one of them.

A cron expression is read on the wall clock of its time zone. Where that clock is put forward or
back, the rule is cron's own:

- An expression that names its times (neither minute nor hour begins with `*`) fires once for each
  of them. A time that does not exist is made up for in the first minute that does; of a time that
  comes twice only the first counts.
- One with `*` in minute or hour follows real time: what does not exist does not fire, and what
  comes twice fires twice.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain, count
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from onward.errors import InputError
from onward.kernel.cron import cron_times, describe_cron_problem, expand_cron
from onward.kernel.timestamps import EPOCH
from onward.ports.storage.triggers import After, Cron, Interval, Schedule, Settings

WIDEST_SHIFT = timedelta(hours=3)
"""No clock is put back by more than this."""
HORIZON_MS = 7 * 24 * 60 * 60 * 1000
"""Times that were missed longer ago are not even counted, except the first."""
FARTHEST_MS = 32_503_680_000_000  # the year 3000
_MINUTE = timedelta(minutes=1)


class FiringPlan(NamedTuple):
    """What to do with the times of a schedule that are due."""

    fire: tuple[int, ...]
    """Those to fire, in order."""
    missed: int
    """How many are skipped for good."""
    next_due: int | None
    """The first that is still to come; None when there is none left."""


def plan(schedule: Schedule, anchor_ms: int, due_ms: int, now_ms: int) -> FiringPlan:
    """Return what to fire of a schedule that is due since `due_ms`, by its misfire policy."""
    late: deque[int] = deque(maxlen=schedule.most_missed)
    on_time: list[int] = []
    missed, next_due = 0, None
    horizon = max(due_ms, now_ms - HORIZON_MS)
    for moment in chain((due_ms,), moments(schedule, anchor_ms, horizon)):
        if moment > now_ms:
            next_due = moment
            break
        if now_ms - moment <= schedule.grace_ms:
            on_time.append(moment)
        else:
            missed += 1
            late.append(moment)
    made_up: list[int] = []
    if schedule.misfire == "all":
        made_up = list(late)
    elif schedule.misfire == "once" and late and not on_time:
        made_up = [late[-1]]
    return FiringPlan((*made_up, *on_time), missed - len(made_up), next_due)


def moments(schedule: Schedule, anchor_ms: int, after_ms: int) -> Iterator[int]:
    """Iterate over the times of a schedule after a moment, in order, without end if it has none."""
    if isinstance(schedule, Cron):
        yield from _cron(schedule, after_ms)
        return
    passed = max(0, (after_ms - anchor_ms) // schedule.every_ms)
    for number in count(passed + 1):
        yield anchor_ms + number * schedule.every_ms


def first_after(schedule: Schedule, anchor_ms: int, after_ms: int) -> int | None:
    """Return the first time of a schedule after a moment."""
    return next(moments(schedule, anchor_ms, after_ms), None)


def first_due(settings: Settings, anchor_ms: int, now_ms: int) -> int | None:
    """Return when a trigger is due for the first time from now on; None: it has no times."""
    match settings:
        case Cron() | Interval():
            return first_after(settings, anchor_ms, now_ms)
        case After(delay_ms=delay_ms):
            return now_ms + delay_ms
        case _:
            return None


def check_schedule(schedule: Schedule, now_ms: int) -> None:
    """Raise InputError for a schedule that cannot be read or never comes."""
    if not isinstance(schedule, Cron):
        return
    zone_of(schedule.time_zone)
    wrong = describe_cron_problem(schedule.expression)
    if wrong:
        raise InputError(wrong)
    if first_after(schedule, now_ms, now_ms) is None:
        raise InputError(f"{schedule.expression!r} never comes: there is no such day")


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


def zone_of(name: str) -> ZoneInfo:
    """Return a time zone by its IANA name; InputError when there is none."""
    if name not in _zones():
        raise InputError(
            f"there is no time zone {name!r}: write an IANA name such as Europe/Berlin, or UTC"
        )
    return ZoneInfo(name)


def _names_its_times(expression: str) -> bool:
    minute, hour = expand_cron(expression).split()[:2]
    return not minute.startswith("*") and not hour.startswith("*")


def _cron(schedule: Cron, after_ms: int) -> Iterator[int]:
    """Iterate over the wall clock times of an expression, as moments."""
    zone = zone_of(schedule.time_zone)
    once = _names_its_times(schedule.expression)
    after = EPOCH + timedelta(milliseconds=after_ms)
    begin = after.astimezone(zone).replace(tzinfo=None)
    if not once and _shifts(after, zone):
        begin -= WIDEST_SHIFT  # a time before it may come again
    again: list[int] = []
    last = after_ms
    for wall in _walls(schedule.expression, begin):
        first, second = _moments_of(wall, zone, once)
        if first is None:
            continue
        while again and again[0] < first:
            moment = heapq.heappop(again)
            if moment > last:
                last = moment
                yield moment
        if second is not None:
            heapq.heappush(again, second)
        if first > last:
            last = first
            yield first
        if last > FARTHEST_MS:
            return
    yield from (moment for moment in sorted(again) if moment > last)


def _walls(expression: str, begin: datetime) -> Iterator[datetime]:
    times = cron_times(expression, begin)
    while True:
        try:
            yield next(times)
        except (StopIteration, OverflowError):  # nothing in fifty years, or ever
            return


def _shifts(moment: datetime, zone: ZoneInfo) -> bool:
    around = (moment - WIDEST_SHIFT, moment, moment + WIDEST_SHIFT)
    return len({near.astimezone(zone).utcoffset() for near in around}) > 1


def _moments_of(wall: datetime, zone: ZoneInfo, once: bool) -> tuple[int | None, int | None]:
    """Return when a time of the wall clock is, and when it is again."""
    first = wall.replace(tzinfo=zone)
    if not _exists(first):
        if not once:
            return None, None
        while not _exists(first):
            first += _MINUTE
        return _ms(first), None
    second = first.replace(fold=1)
    if once or second.utcoffset() == first.utcoffset():
        return _ms(first), None
    return _ms(first), _ms(second)


def _exists(moment: datetime) -> bool:
    back = moment.astimezone(UTC).astimezone(moment.tzinfo)
    return back.replace(tzinfo=None) == moment.replace(tzinfo=None)


def _ms(moment: datetime) -> int:
    return (moment.astimezone(UTC) - EPOCH) // timedelta(milliseconds=1)
