"""Wiring the API on a file for one command: to look at it, or to do one thing with its runs.

Nothing goes on by itself here: no run is taken up but the one that is named, no trigger fires.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources
from pathlib import Path

from onward.adapters.embedded.history import SqliteHistory
from onward.adapters.embedded.journal import SqliteJournal
from onward.adapters.embedded.threaded import Threaded
from onward.bootstrap.dev import EmbeddedBackend
from onward.bootstrap.embedded import Settings, open_engine
from onward.nodes.catalogue import builtin
from onward.runtime.cancelling import cancel
from onward.runtime.gathered import News

LOOK_S = 0.2
"""How often to look for news that another process has written."""

_TABLE = re.compile(r"CREATE TABLE IF NOT EXISTS (\w+)")


@asynccontextmanager
async def open_onlooker(settings: Settings, *, create: bool) -> AsyncIterator[EmbeddedBackend]:
    """Open what the API needs on a file, without an engine: another process may be serving it.

    InputError when there is no file, unless it may be created.
    """
    await asyncio.to_thread(_prepare, settings.database, create)
    file = Threaded(settings.database)
    backend = EmbeddedBackend(settings, file, builtin)
    listening = asyncio.create_task(_listen(backend))
    try:
        yield backend
    finally:
        await cancel(listening)
        await backend.aclose()
        file.close()


@asynccontextmanager
async def open_for_one(settings: Settings, run: str | None) -> AsyncIterator[EmbeddedBackend]:
    """Open an engine that serves one run, or only what is started on it."""
    backend: EmbeddedBackend | None = None

    def observe(news: News) -> None:
        if backend is not None:
            backend.observe(news)

    async with open_engine(settings, observe=[observe], events=True) as engine:
        file = Threaded(settings.database)
        backend = EmbeddedBackend(settings, file, builtin)
        backend.serve_with(engine)
        try:
            for one in engine.unfinished():
                if one.execution_id == run:
                    engine.resume(run)
            yield backend
        finally:
            await backend.aclose()
            file.close()


def _prepare(database: Path, create: bool) -> None:
    """Bring the file up to date, if it is not; its engine, if it has one, has done so."""
    if not (create and not database.exists()):
        history = SqliteHistory(database)
        try:
            if _tables() <= history.tables():
                return
        finally:
            history.close()
    SqliteJournal(database).close()


def _tables() -> set[str]:
    """Return the tables that a file of this release has besides those of its first one."""
    folder = resources.files("onward.adapters.embedded").joinpath("sql")
    scripts = [one.read_text() for one in folder.iterdir() if one.name.endswith(".sql")]
    return {name for script in scripts for name in _TABLE.findall(script)}


async def _listen(backend: EmbeddedBackend) -> None:
    """Tell of news that another process has written."""
    last = -1
    while True:
        now = await backend.archive.last_place()
        if now != last:
            last = now
            backend.feed.tell_all()
        await asyncio.sleep(LOOK_S)
