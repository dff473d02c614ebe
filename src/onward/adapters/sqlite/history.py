"""The journal for onlookers: read only, without the lock, also while an engine writes it."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack
from pathlib import Path

from onward.adapters.sqlite.journal import APPLICATION_ID, SCHEMA_VERSION
from onward.adapters.sqlite.rows import SqliteReader
from onward.errors import InputError, StorageError
from onward.ports.storage.run_queries import History

_WAITED_FOR = """
WITH RECURSIVE below (child_id) AS (
    SELECT child_id FROM run_link WHERE parent_id = ?1 AND waits
    UNION SELECT run_link.child_id FROM run_link JOIN below ON parent_id = below.child_id AND waits
) SELECT child_id FROM below
"""


class SqliteHistory(SqliteReader):
    """What an onward database says about its runs."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise InputError(
                f"there is no database {path}: nothing has run here yet, or --db must name another"
            )
        with ExitStack() as stack:
            try:
                address = f"{path.absolute().as_uri()}?mode=ro"
                connection = sqlite3.connect(address, uri=True, timeout=5)
                stack.callback(connection.close)
                (application,) = connection.execute("PRAGMA application_id").fetchone()
                (version,) = connection.execute("PRAGMA user_version").fetchone()
            except sqlite3.Error as problem:
                raise StorageError(f"{path} is not a usable onward database: {problem}") from None
            if (application, version) != (APPLICATION_ID, SCHEMA_VERSION):
                raise StorageError(
                    f"{path} is not a database of this onward (schema version {SCHEMA_VERSION});"
                    " choose another --db"
                )
            stack.pop_all()
        super().__init__(connection)

    def tables(self) -> set[str]:
        """Return the names of what the file has."""
        return {name for (name,) in self._reader.execute("SELECT name FROM sqlite_master")}

    def run_ids(self, beginning: str, limit: int) -> list[str]:
        """Return the ids of the newest runs that begin so."""
        query = (
            "SELECT execution_id FROM execution WHERE substr(execution_id, 1, length(?1)) = ?1"
            " ORDER BY started_ms DESC LIMIT ?2"
        )
        return [name for (name,) in self._reader.execute(query, (beginning, limit))]

    def workflow_ids(self, beginning: str, limit: int) -> list[str]:
        """Return the ids of workflows that begin so."""
        query = (
            "SELECT workflow_id FROM workflow WHERE substr(workflow_id, 1, length(?1)) = ?1"
            " ORDER BY workflow_id LIMIT ?2"
        )
        return [name for (name,) in self._reader.execute(query, (beginning, limit))]

    def trigger_ids(self, beginning: str, limit: int) -> list[str]:
        """Return the ids of triggers that begin so."""
        query = (
            "SELECT trigger_id FROM run_trigger WHERE substr(trigger_id, 1, length(?1)) = ?1"
            " ORDER BY trigger_id LIMIT ?2"
        )
        return [name for (name,) in self._reader.execute(query, (beginning, limit))]

    def waited_for(self, execution_id: str) -> list[str]:
        """Return the runs whose end a run waits for, and those that they wait for."""
        if "run_link" not in self.tables():
            return []
        return [name for (name,) in self._reader.execute(_WAITED_FOR, (execution_id,))]

    def close(self) -> None:
        """Close the file."""
        self._reader.close()


_conforms: type[History] = SqliteHistory
