"""The laboratory of the embedded engine: one process, one file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from conformance.embedded_timetable import EmbeddedTimetable, open_timetable
from conformance.laboratory import Event, Given, Laboratory
from languages.serverless.lab import File, TreeLab
from onward.adapters.sql.publish_positions import TablePublishPositions
from onward.adapters.sqlite.connection import SqliteDatabase
from onward.adapters.sqlite.run_queries import SqliteRunQueries
from onward.kernel.effects import Pause
from onward.runtime.embedded.engine import EmbeddedEngine
from onward.runtime.signals.lifecycle_publisher import LifecyclePublisher
from support.harness import Ended

OUTLET = "lifecycle"
MOST_DEATHS = 200


class EmbeddedLab(TreeLab):
    """A `Laboratory` of one process."""

    def now_ms(self) -> int:
        """Return the time."""
        return self.clock.now

    def keep_secret(self, name: str, fields: dict[str, str]) -> None:
        """Let workflows use a secret."""
        self.secrets.known[name] = fields

    def load_dice(self, fall: float) -> None:
        """Let dice fall at a number."""
        self.chance.fall = fall

    async def run_among_deaths(self, document: str, given: Given, events: Sequence[Event]) -> Ended:
        """Run a document to its end: an engine is gone as soon as a task of it has ended."""
        async with self.engine() as engine:
            run = await self.start(engine, document, given)
            if events:
                await self.publish_when_it_waits(list(events))
        for _ in range(MOST_DEATHS):
            heard = len(self.news)
            async with self.engine() as engine:
                unfinished = [one.execution_id for one in engine.unfinished()]
                if not unfinished:
                    break
                for one in unfinished:
                    engine.resume(one)
                await self.book.until(lambda heard=heard: any(map(_over, self.news[heard:])))
        async with self.engine() as engine:
            return await self.finish(engine, run)

    async def run_with_a_pause(self, document: str, given: Given) -> Ended:
        """Run a document that is paused when it waits, once more, and goes on."""
        async with self._waiting(document, given) as (engine, run):
            await engine.ask(run, Pause(on=True))
            await engine.ask(run, Pause(on=True))
            await engine.ask(run, Pause(on=False))
            self.clock.release()
            return await self.finish(engine, run)

    async def run_and_cancel(self, document: str, given: Given) -> Ended:
        """Run a document that is cancelled when it waits."""
        async with self._waiting(document, given) as (engine, run):
            await engine.cancel(run, "enough")
            return await self.finish(engine, run)

    @asynccontextmanager
    async def _waiting(
        self, document: str, given: Given
    ) -> AsyncIterator[tuple[EmbeddedEngine, str]]:
        """Start a run, and wait until it waits; the clock stands still from then on."""
        async with self.engine() as engine:
            self.clock.hold()
            run = await self.start(engine, document, given)
            await self.book.until(lambda: any(new.status == "waiting" for new in self.news))
            yield engine, run

    async def places_of(self, text: str) -> list[str]:
        """Return where a text is written: in the files, in the news or in the log."""
        files = [
            file.name
            for file in self.path.parent.glob("onward.db*")
            if text.encode() in file.read_bytes()
        ]
        said = {"news": self.news, "log": self.log.lines}
        return files + [where for where, what in said.items() if text in repr(what)]

    async def keep_events(self) -> None:
        """Tell of the lifecycle of what runs from now on."""
        self.keeps_events = True

    async def lifecycle_events(self) -> list[Event]:
        """Return what was told since then."""
        file: Any = File(self.path)
        told: list[Event] = []

        async def take(event: Any) -> None:
            told.append(dict(event))

        outlets = TablePublishPositions(SqliteDatabase(file))
        await outlets.take(OUTLET, "", first=0, now_ms=0, until_ms=0)
        publisher = LifecyclePublisher(
            SqliteRunQueries(file), outlets, take, self.clock, self.log, "me"
        )
        while await publisher.turn(OUTLET):
            pass
        return told

    @asynccontextmanager
    async def timetable(self) -> AsyncIterator[EmbeddedTimetable]:
        """Open a master on the same file."""
        async with open_timetable(self) as table:
            yield table


def _over(news: Any) -> bool:
    return bool(news.status != "running")


_conforms: type[Laboratory] = EmbeddedLab
