"""The seam between the shared SQL of this package and the two databases.

Statements are written for PostgreSQL, in words that SQLite has too. Four it writes differently, and
its adapter rewrites them: the parameter `$1`; `= ANY ($1::text[])` with a list as the value;
`strpos(text, part)`; and `FOR UPDATE`, which SQLite does not need because a transaction that writes
is alone in its file.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Protocol, TypeAlias, TypeVar

from onward.errors import StorageError

T = TypeVar("T")

Row: TypeAlias = tuple[Any, ...]

Step: TypeAlias = tuple[str, tuple[Any, ...]]
"""A statement and its values."""

Steps: TypeAlias = Generator[Step, list[Row], T]
"""A transaction: yields a step, is sent its rows, and returns the result.

A generator, because PostgreSQL is awaited while a transaction in SQLite must stay in one thread:
the engine commits from the event loop and would wait for a transaction that waits for the loop.
"""


class DuplicateError(StorageError):
    """A unique index refused a row."""


class SqlDatabase(Protocol):
    """A database that has the tables. StorageError is all it raises for what the database does."""

    async def rows(self, statement: str, *values: Any) -> list[Row]:
        """Return the rows of a statement, which may also write."""
        ...

    async def change(self, first: Step, *more: Step) -> int:
        """Do all steps in one transaction, and return how many rows the first one changed.

        When that is none, the others are not done.
        """
        ...

    async def transact(self, steps: Steps[T]) -> T:
        """Do the steps in one transaction, and return their result. An exception undoes them."""
        ...
