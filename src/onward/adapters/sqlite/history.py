"""The journal for other processes: read only, without the lock, also while an engine writes it."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

from onward.adapters.sqlite.journal import no_database
from onward.adapters.sqlite.migrations import open_read_only, read_version
from onward.adapters.sqlite.rows import SqliteReader
from onward.errors import StorageError
from onward.ports.storage.run_queries import History

_WAITED_FOR = """
WITH RECURSIVE below (child_id) AS (
    SELECT child_id FROM run_link WHERE parent_id = ?1 AND waits
    UNION SELECT run_link.child_id FROM run_link JOIN below ON parent_id = below.child_id AND waits
) SELECT child_id FROM below
"""


class SqliteHistory(SqliteReader):
    """A `History` in a file of this release or of an earlier one."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise no_database(path)
        with ExitStack() as stack:
            try:
                connection = stack.enter_context(closing(open_read_only(path)))
                version = read_version(connection, path)
            except sqlite3.Error as problem:
                raise StorageError(f"{path} is not a usable onward database: {problem}") from None
            if version == 0:
                raise StorageError(
                    f"{path} is empty: nothing has run here yet; choose another --db"
                )
            stack.pop_all()
        super().__init__(connection)

    def run_ids(self, beginning: str, limit: int) -> list[str]:
        query = (
            "SELECT execution_id FROM execution WHERE substr(execution_id, 1, length(?1)) = ?1"
            " ORDER BY started_ms DESC LIMIT ?2"
        )
        return [name for (name,) in self._reader.execute(query, (beginning, limit))]

    def workflow_ids(self, beginning: str, limit: int) -> list[str]:
        query = (
            "SELECT workflow_id FROM workflow WHERE substr(workflow_id, 1, length(?1)) = ?1"
            " ORDER BY workflow_id LIMIT ?2"
        )
        return [name for (name,) in self._reader.execute(query, (beginning, limit))]

    def trigger_ids(self, beginning: str, limit: int) -> list[str]:
        query = (
            "SELECT trigger_id FROM run_trigger WHERE substr(trigger_id, 1, length(?1)) = ?1"
            " ORDER BY trigger_id LIMIT ?2"
        )
        return [name for (name,) in self._reader.execute(query, (beginning, limit))]

    def waited_for(self, execution_id: str) -> list[str]:
        if not self._first("SELECT 1 FROM sqlite_master WHERE name = 'run_link'"):
            return []  # the file of an earlier release
        return [name for (name,) in self._reader.execute(_WAITED_FOR, (execution_id,))]

    def close(self) -> None:
        self._reader.close()


_conforms: type[History] = SqliteHistory
