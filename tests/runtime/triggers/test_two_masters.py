"""Two masters, two schedulers, an hour of virtual time: each time fires once, whoever dies when."""

import asyncio
from random import Random

import pytest
from redis.asyncio import Redis

from onward.adapters.redis.timers import RedisTimers
from onward.ports.storage.triggers import Cron
from onward.runtime.cluster.scheduler import Scheduler
from runtime.triggers.hour import BACK, CRONS, FORTH, HOUR, MINUTE, due_times, schedules
from runtime.triggers.world import KilledError

INTERVALS = {"tens": 10_000, "odd": 47_000}


@pytest.mark.parametrize("change", [BACK, FORTH], ids=["back", "forth"])
@pytest.mark.parametrize("seed", [1, 2])
async def test_each_time_fires_once_across_a_change_of_clocks_and_killed_masters(
    opened, change, seed
):
    begin, named = change
    async with opened(begin) as world:
        for name, schedule in schedules(INTERVALS).items():
            await world.add(name, schedule)
        killed = await _live(world, begin + HOUR, Random(seed))
        found = {name: await world.firings(name) for name in (*CRONS, *INTERVALS)}

    assert killed > 5
    assert due_times(begin, named, INTERVALS) == {
        name: [one.due_ms for one in some if one.due_ms <= begin + HOUR]
        for name, some in found.items()
    }
    assert {"started"} == {one.state for some in found.values() for one in some}
    runs = [one.execution_id for some in found.values() for one in some]
    assert sorted(runs) == sorted(world.started)


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
            await asyncio.gather(*(master.turn() for master in masters))
            for run in list(world.started)[seen:]:
                await timers.set(run, "pause", world.clock.now + 50_000, run.encode())
            seen = len(world.started)
            before = len(bus.bodies)
            await asyncio.gather(*(scheduler.turn() for scheduler in schedulers))
            for body in bus.bodies[before:]:
                await world.end(body.decode())
        firings = [
            firing for firing in await world.firings("often") if firing.due_ms < begin + HOUR
        ]

    times = [firing.due_ms for firing in firings]
    assert list(range(begin + MINUTE, begin + HOUR, MINUTE)) == times
    assert len(set(bus.bodies)) == len(bus.bodies) >= len(times) - 1
    assert {"started", "ended"} >= {firing.state for firing in firings}
