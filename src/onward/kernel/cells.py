"""The storage of one run's coordination state, as the rules see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol


class Cells(Protocol):
    """The state of one run: in each group, a value for each kind and field."""

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
    """Cells in plain dictionaries: the state itself, or a write-through cache of it.

    `all` returns the live dictionary, to be read only.
    """

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, dict[str, Any]]] = {}

    def get(self, group: str, kind: str, field: str) -> Any:
        kinds = self._groups.get(group)
        if kinds is None:
            return None
        fields = kinds.get(kind)
        return None if fields is None else fields.get(field)

    def put(self, group: str, kind: str, field: str, value: Any) -> None:
        self._groups.setdefault(group, {}).setdefault(kind, {})[field] = value

    def all(self, group: str, kind: str) -> dict[str, Any]:
        return self._groups.get(group, {}).get(kind, {})

    def drop(self, group: str) -> None:
        self._groups.pop(group, None)

    def groups(self) -> Iterator[str]:
        return iter(tuple(self._groups))


_conforms: type[Cells] = MemoryCells
