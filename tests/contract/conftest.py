"""A store or a journal for a test, and one that many small runs of a property share."""

import pytest

from onward.adapters.postgres.store import open_store
from onward.adapters.sqlite.journal import SqliteJournal


@pytest.fixture
def journal(tmp_path):
    journal = SqliteJournal(tmp_path / "onward.db")
    yield journal
    journal.close()


@pytest.fixture(scope="module")
def quick_journal(tmp_path_factory):
    """A journal that does not wait for the disk: its answers are the same."""
    journal = SqliteJournal(tmp_path_factory.mktemp("quick") / "onward.db")
    journal._writer.execute("PRAGMA synchronous = OFF")
    yield journal
    journal.close()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """A file or a database for this test alone."""
    if request.param == "sqlite":
        return tmp_path / "onward.db"
    return request.getfixturevalue("postgres_url")


@pytest.fixture
async def opener(postgres_url):
    """Return what opens the store of this test, as often as it is asked."""
    stores = []

    async def another():
        stores.append(await open_store(postgres_url))
        return stores[-1]

    yield another
    for store in stores:
        await store.close()


@pytest.fixture
async def store(opener):
    return await opener()
