"""A journal for a test, and one that many small runs of a property share."""

import pytest

from weft.adapters.embedded.journal import SqliteJournal


@pytest.fixture
def journal(tmp_path):
    one = SqliteJournal(tmp_path / "weft.db")
    yield one
    one.close()


@pytest.fixture(scope="module")
def quick_journal(tmp_path_factory):
    """A journal that does not wait for the disk: its answers are the same."""
    one = SqliteJournal(tmp_path_factory.mktemp("quick") / "weft.db")
    one._writer.execute("PRAGMA synchronous = OFF")
    yield one
    one.close()
