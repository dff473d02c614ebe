"""The version of a database file, and the migrations that bring it up to date.

`sql/migrations/NNNN_what.sql` are applied in order; `PRAGMA user_version` is the number of the last
one. A file of a newer release is refused: unlike a PostgreSQL, it has one process at a time, so it
never serves two releases at once. `sql/schema.sql` is what all migrations together make.

Before migrations were numbered, every file said version 1, whichever tables it had. That is why
each migration up to 0014 but 0002 may be repeated, and 0002 is skipped where it was applied.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from functools import cache
from importlib import resources
from pathlib import Path

from onward.errors import StorageError

APPLICATION_ID = 0x6F6E7764
"""Marks a file as ours. "onwd" in ASCII. It never changes, since files are known by it."""

MIGRATION_NAME = re.compile(r"(?P<number>\d{4})_[a-z_]+\.sql")


@cache
def migrations() -> dict[int, str]:
    """Return the script of every migration by its number, in the order to apply them."""
    folder = resources.files("onward.adapters.sqlite").joinpath("sql/migrations")
    files = sorted((file for file in folder.iterdir()), key=lambda file: file.name)
    found = ((MIGRATION_NAME.fullmatch(file.name), file) for file in files)
    return {int(match["number"]): file.read_text() for match, file in found if match}


def newest_version() -> int:
    """Return the version of a file that is up to date."""
    return max(migrations())


def read_version(db: sqlite3.Connection, path: Path) -> int:
    """Return the version of a file; 0 when it is empty and may become ours.

    Raises StorageError for the file of another program, and for one of a newer release.
    """
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    (objects,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION_ID:
        if application or objects:
            raise StorageError(f"{path} is a database of another program; choose another --db")
        return 0
    if version > newest_version():
        raise StorageError(
            f"{path} has schema version {version}, this onward knows {newest_version()}: upgrade"
            " onward"
        )
    return int(version)


def open_read_only(path: Path, *, timeout_s: float = 5) -> sqlite3.Connection:
    """Connect to a file that exists, without the right to change it."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=timeout_s)


def file_version(path: Path) -> int:
    """Return the version of the file at a path, as `read_version`; it is not changed."""
    try:
        with closing(open_read_only(path)) as db:
            return read_version(db, path)
    except sqlite3.Error as problem:
        raise StorageError(f"{path} is not a usable onward database: {problem}") from None


def migrate(db: sqlite3.Connection, version: int) -> None:
    """Apply the migrations after a version, all of them or none."""
    if version == 1 and _takes_cancelled_runs(db):
        version = 2
    missing = [script for number, script in migrations().items() if number > version]
    if missing:
        stamp = f"PRAGMA application_id = {APPLICATION_ID};"
        stamp += f"PRAGMA user_version = {newest_version()};"
        db.executescript(f"BEGIN IMMEDIATE; {' '.join(missing)} {stamp} COMMIT;")


def _takes_cancelled_runs(db: sqlite3.Connection) -> bool:
    query = "SELECT sql FROM sqlite_master WHERE name = 'execution'"
    return any("'cancelled'" in script for (script,) in db.execute(query))
