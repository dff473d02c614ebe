"""A store or a journal for a test, and one that many small runs of a property share."""

import pytest

from onward.adapters.postgres import store as postgres
from onward.adapters.sqlite.journal import SqliteJournal
from support import sqlite_store as sqlite


@pytest.fixture
def journal(tmp_path):
    one = SqliteJournal(tmp_path / "onward.db")
    yield one
    one.close()


@pytest.fixture(scope="module")
def quick_journal(tmp_path_factory):
    """A journal that does not wait for the disk: its answers are the same."""
    one = SqliteJournal(tmp_path_factory.mktemp("quick") / "onward.db")
    one._writer.execute("PRAGMA synchronous = OFF")
    yield one
    one.close()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """A file or a database for this test alone."""
    if request.param == "sqlite":
        return tmp_path / "store.db"
    return request.getfixturevalue("postgres_url")


@pytest.fixture
async def opener(place):
    """Return what opens the store of this test, as often as it is asked."""
    opened = []

    async def another():
        kind = postgres if isinstance(place, str) else sqlite
        opened.append(await kind.open_store(place))
        return opened[-1]

    yield another
    for one in opened:
        await one.close()


@pytest.fixture
async def store(opener):
    return await opener()
