"""The two databases as one: the same statements, with `$1` for the first value."""

from __future__ import annotations

from typing import Any, Protocol

Step = tuple[str, tuple[Any, ...]]
"""A statement and its values."""


class SqlDatabase(Protocol):
    """A database that has the tables of access."""

    async def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return what a question comes to."""
        ...

    async def change(self, first: Step, *more: Step) -> int:
        """Do all steps in one transaction, and return how many rows the first one changed.

        When that is none, the others are not done.
        """
        ...
