"""One process at a time: an advisory lock beside the database file.

The operating system releases it when the process ends, however it ends, so a killed engine never
leaves a lock behind. Readers need no lock.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from onward.errors import StorageError


class Lock:
    """Held from construction until `release`."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + "-lock")
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as problem:
            raise StorageError(f"cannot open {self._path}: {problem.strerror}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(self._file, 32).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise StorageError(
                f"{database} is in use by another onward process (pid {holder}); "
                "wait for it to end, or give this one a file of its own with --db"
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let another process have the database."""
        os.close(self._file)
