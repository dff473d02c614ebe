"""Followers of a run: every number once, one question for all of them, and nothing kept."""

import asyncio
import gc
import random
from types import SimpleNamespace

import pytest

from onward.errors import StorageError
from onward.kernel.run_events import RunEvent
from onward.runtime import feed as following
from onward.runtime.feed import EVENTS_PAGE, Feed, NextPage


class Archive:
    """The events of one run, and how often somebody asked for them."""

    def __init__(self):
        self.written = []
        self.asked = 0
        self.ended = False
        self.away = False

    def write(self, feed, kind="node.progress"):
        self.written.append(RunEvent(seq=len(self.written) + 1, at="", type=kind))
        self.ended = self.ended or kind == "run.ended"
        feed.notify("x")

    async def events(self, execution_id, *, after, limit):
        self.asked += 1
        await asyncio.sleep(0)
        if self.away:
            raise StorageError("PostgreSQL is starting")
        return self.written[after : after + limit]

    async def run(self, execution_id):
        return SimpleNamespace(ended_ms=1 if self.ended else None)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(following, "PAUSE_S", 0.001)
    monkeypatch.setattr(following, "PAUSE_PER_FOLLOWER_S", 0.0)
    monkeypatch.setattr(following, "LINGER_S", 0.05)


async def read(feed, after=0, rest=None):
    """Return the numbers that one follower is told; it rests after every page."""
    seen = []
    async for page in feed.follow("x", after, heartbeat_s=60):
        seen += [event.seq for event in page]
        await asyncio.sleep(rest() if rest else 0)
    return seen


@pytest.mark.parametrize("seed", range(20))
async def test_whoever_comes_when_and_however_slow_sees_every_number_once(seed):
    chance = random.Random(seed)
    archive = Archive()
    feed = Feed(archive)
    readers = {}
    for _ in range(300):
        for _ in range(EVENTS_PAGE if chance.random() < 0.02 else chance.choice([0, 1, 1, 5])):
            archive.write(feed)
        if chance.random() < 0.05:
            after = chance.randint(0, len(archive.written))
            slow = chance.choice([0, 0.001, 0.02])
            task = asyncio.create_task(read(feed, after, lambda s=slow: s * chance.random()))
            readers[task] = after
        if chance.random() < 0.5:
            await asyncio.sleep(chance.choice([0, 0, 0.001, 0.003]))
    archive.write(feed, "run.ended")
    archive.write(feed, "node.succeeded")
    last = len(archive.written)

    for task, after in readers.items():
        assert list(range(after + 1, last + 1)) == await task
    assert (0, {}) == (feed.followers, feed._broadcasts)


async def test_those_who_have_seen_it_all_are_told_by_one_question():
    archive = Archive()
    feed = Feed(archive)
    readers = [asyncio.create_task(read(feed)) for _ in range(100)]
    while feed.followers < 100:
        await asyncio.sleep(0)
    archive.asked = 0
    for _ in range(10):
        archive.write(feed)
        await asyncio.sleep(0.01)
    asked = archive.asked
    archive.write(feed, "run.ended")
    await asyncio.gather(*readers)

    assert asked <= 25, "two for the first ones at most, and one for each page"


async def test_who_does_not_read_on_keeps_nothing():
    archive = Archive()
    feed = Feed(archive)
    quick = asyncio.create_task(read(feed))
    stuck = feed.follow("x", 0, heartbeat_s=60)
    archive.write(feed)
    first = await anext(stuck)
    for _ in range(200):
        archive.write(feed)
        await asyncio.sleep(0.002)
    gc.collect()
    pages = sum(isinstance(thing, NextPage) for thing in gc.get_objects())
    archive.write(feed, "run.ended")
    told = await quick
    rest = [event.seq async for page in stuck for event in page]

    assert pages < 10
    assert told == [*(event.seq for event in first), *rest]


async def test_an_archive_that_is_away_ends_the_streams_and_serves_those_who_come_back():
    archive = Archive()
    feed = Feed(archive)
    reader = asyncio.create_task(read(feed))
    archive.write(feed)
    await asyncio.sleep(0.02)
    archive.away = True
    archive.write(feed)
    with pytest.raises(StorageError, match="starting"):
        await reader
    archive.away = False
    archive.write(feed, "run.ended")

    assert [2, 3] == await read(feed, 1)


async def test_a_word_that_got_lost_is_made_up_for(monkeypatch):
    archive = Archive()
    feed = Feed(archive)
    reader = feed.follow("x", 0, heartbeat_s=0.01)
    archive.write(feed)
    await anext(reader)
    feed.notify = lambda name: None
    archive.write(feed)
    while not (page := await anext(reader)):
        pass
    await reader.aclose()

    assert [2] == [event.seq for event in page]


async def test_who_asks_for_what_is_to_come_waits_for_it_and_no_longer_than_the_run():
    archive = Archive()
    feed = Feed(archive)
    reader = asyncio.create_task(read(feed, 3))
    for kind in ("node.started", "node.succeeded", "node.started", "node.succeeded", "run.ended"):
        await asyncio.sleep(0.005)
        archive.write(feed, kind)

    assert [4, 5] == await reader
    assert [] == await read(feed, 99)
