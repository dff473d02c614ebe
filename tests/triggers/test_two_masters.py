"""Two masters, two schedulers, an hour of virtual time: each time fires once, whoever dies when."""

import asyncio
from datetime import UTC, datetime
from random import Random
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from redis.asyncio import Redis

from triggers.world import KilledError
from weft.adapters.redis.timers import RedisTimers
from weft.ports.triggers import Cron, Interval
from weft.runtime.scheduler import Scheduler

MINUTE = 60_000
HOUR = 60 * MINUTE
ALWAYS = {"overlap": "allow", "misfire": "all", "most_missed": 100, "grace_ms": 1_000}
CRONS = {
    "often": "* * * * *",
    "fives": "*/5 * * * *",
    "hours": "0 * * * *",
    "named": "15,30,45 2 * * *",
    "three": "0 3 * * *",
    "never": "0 12 * * *",
}
INTERVALS = {"tens": 10_000, "odd": 47_000}


def ms(text):
    return int(datetime.fromisoformat(text).timestamp() * 1000)


# The hour in which Berlin puts its clocks back, and the one in which it puts them forward. What
# named times come to in them is written out, not computed.
BACK = (
    ms("2026-10-25T00:20:00+00:00"),
    {"named": ["00:30", "00:45"], "three": [], "hours": ["01:00"]},
)
FORTH = (
    ms("2026-03-29T00:20:00+00:00"),
    {"named": ["01:00"], "three": ["01:00"], "hours": ["01:00"]},
)


@pytest.mark.parametrize("change", [BACK, FORTH], ids=["back", "forth"])
@pytest.mark.parametrize("seed", [1, 2])
async def test_each_time_fires_once_across_a_change_of_clocks_and_killed_masters(
    opened, change, seed
):
    begin, named = change
    async with opened(begin) as world:
        for name, expression in CRONS.items():
            await world.add(name, Cron(expression=expression, time_zone="Europe/Berlin", **ALWAYS))
        for name, every in INTERVALS.items():
            await world.add(name, Interval(every_ms=every, **ALWAYS))
        killed = await _live(world, begin + HOUR, Random(seed))
        found = {name: await world.firings(name) for name in (*CRONS, *INTERVALS)}

    expected = {
        name: [one for one in _minutes(begin) if _reads(CRONS[name], one)] for name in CRONS
    }
    expected |= {
        name: [begin + n * every for n in range(1, HOUR // every + 1)]
        for name, every in INTERVALS.items()
    }
    day = datetime.fromtimestamp(begin / 1000, ZoneInfo("UTC")).date().isoformat()
    for name, times in named.items():
        expected[name] = [ms(f"{day}T{one}:00+00:00") for one in times]
    assert killed > 5
    assert expected == {
        name: [one.due_ms for one in some if one.due_ms <= begin + HOUR]
        for name, some in found.items()
    }
    assert {"started"} == {one.state for some in found.values() for one in some}
    runs = [one.execution_id for some in found.values() for one in some]
    assert sorted(runs) == sorted(world.started)


def _minutes(begin):
    return range(begin + MINUTE, begin + HOUR + 1, MINUTE)


def _reads(expression, moment):
    local = datetime.fromtimestamp(moment / 1000, ZoneInfo("Europe/Berlin"))
    wanted = CronSim(expression, datetime(2000, 1, 1, tzinfo=UTC))
    return local.minute in wanted.minutes and local.hour in wanted.hours


async def _live(world, until_ms, dice):
    """Let two masters live until a time, each killed now and then; return how often that was."""
    masters, dead_until, killed = [None, None], [0, 0], 0
    while world.clock.now < until_ms:
        world.clock.now = min(until_ms, world.clock.now + dice.randrange(1_000, 9_000))
        for place in (0, 1):
            if masters[place] is None and world.clock.now >= dead_until[place]:
                masters[place] = world.master(dice, 0.002)
        alive = [place for place in (0, 1) if masters[place] is not None]
        turns = [masters[place].turn() for place in alive]
        results = await asyncio.gather(*turns, return_exceptions=True)
        for place, done in zip(alive, results, strict=True):
            if isinstance(done, KilledError):
                killed += 1
                masters[place] = None
                dead_until[place] = world.clock.now + dice.randrange(90_000)
            elif isinstance(done, BaseException):
                raise done
    last = world.master()
    for _ in range(3):  # what was left to start is started by whoever comes
        world.clock.now += 6_000
        await last.turn()
    return killed


class Carried:
    """A bus that remembers what it carried."""

    def __init__(self):
        self.bodies = []

    async def publish(self, queue, body, priority=0):
        self.bodies.append(body)


async def test_two_masters_and_two_schedulers_move_every_run_on(opened, redis_url):
    """Each run waits for a minute: a timer of its own, that two schedulers compete for."""
    begin, dice = BACK[0], Random(5)
    async with Redis.from_url(redis_url) as redis, opened(begin) as world:
        timers, bus = RedisTimers(redis), Carried()
        schedulers = [Scheduler(timers, bus, world.clock) for _ in range(2)]
        masters = [world.master() for _ in range(2)]
        await world.add("often", Cron(expression="* * * * *", overlap="queue", misfire="all"))
        seen = 0
        while world.clock.now < begin + HOUR:
            world.clock.now += dice.randrange(1_000, 9_000)
            await asyncio.gather(*(one.turn() for one in masters))
            for run in list(world.started)[seen:]:
                await timers.set(run, "pause", world.clock.now + 50_000, run.encode())
            seen = len(world.started)
            before = len(bus.bodies)
            await asyncio.gather(*(one.turn() for one in schedulers))
            for body in bus.bodies[before:]:
                await world.end(body.decode())
        firings = [one for one in await world.firings("often") if one.due_ms < begin + HOUR]

    times = [one.due_ms for one in firings]
    assert list(range(begin + MINUTE, begin + HOUR, MINUTE)) == times
    assert len(set(bus.bodies)) == len(bus.bodies) >= len(times) - 1
    assert {"started", "ended"} >= {one.state for one in firings}
