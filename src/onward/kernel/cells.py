"""Where the state of one run is kept while the coordination rules change it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol


class Cells(Protocol):
    """Where the state of one run is kept: a small two-level map per group."""

    def get(self, group: str, kind: str, field: str) -> Any:
        """Return the cell's value, or None."""
        ...

    def put(self, group: str, kind: str, field: str, value: Any) -> None:
        """Set the cell."""
        ...

    def all(self, group: str, kind: str) -> dict[str, Any]:
        """Return every cell of one kind, by field."""
        ...

    def drop(self, group: str) -> None:
        """Drop a whole group."""
        ...

    def groups(self) -> Iterator[str]:
        """Iterate over a snapshot of the groups that have cells."""
        ...


class MemoryCells:
    """Cells in plain dictionaries: the state itself, or a write-through cache of it."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, dict[str, Any]]] = {}

    def get(self, group: str, kind: str, field: str) -> Any:
        """Return the cell's value, or None."""
        kinds = self._groups.get(group)
        if kinds is None:
            return None
        fields = kinds.get(kind)
        return None if fields is None else fields.get(field)

    def put(self, group: str, kind: str, field: str, value: Any) -> None:
        """Set the cell."""
        self._groups.setdefault(group, {}).setdefault(kind, {})[field] = value

    def all(self, group: str, kind: str) -> dict[str, Any]:
        """Return every cell of one kind, by field: the live dictionary, to be read only."""
        return self._groups.get(group, {}).get(kind, {})

    def drop(self, group: str) -> None:
        """Drop a whole group."""
        self._groups.pop(group, None)

    def groups(self) -> Iterator[str]:
        """Iterate over a snapshot of the groups that have cells."""
        return iter(tuple(self._groups))


_conforms: type[Cells] = MemoryCells
