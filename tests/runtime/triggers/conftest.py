"""Every test of firing runs twice: on SQLite, and on PostgreSQL."""

import pytest

from runtime.triggers.world import postgres_world, sqlite_world

NOON_MS = 1_772_539_200_000  # 2026-03-03T12:00:00Z


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request, tmp_path):
    """Return what opens a world at a time."""
    if request.param == "sqlite":
        return lambda now_ms: sqlite_world(tmp_path, now_ms)
    url = request.getfixturevalue("postgres_url")
    return lambda now_ms: postgres_world(url, now_ms)


@pytest.fixture
async def world(opened):
    async with opened(NOON_MS) as one:
        yield one
