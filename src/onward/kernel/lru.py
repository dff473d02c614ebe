"""A cache that drops the least recently used entries, by number or by weight."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lru(Generic[K, V]):
    """
    A mapping that holds at most `most` entries, or values of at most `most` in sum of `weigh`.

    Reading an entry makes it the latest. One that weighs more than `most` is not held at all.
    """

    __slots__ = ("_entries", "_most", "_weigh", "_weight")

    def __init__(self, most: int, weigh: Callable[[V], int] | None = None) -> None:
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._most = most
        self._weigh = weigh
        self._weight = 0

    def get(self, key: K) -> V | None:
        """Return the value of a key; None when there is none. It is the latest now."""
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Set a value as the latest, and drop the oldest ones while there are too many."""
        self.pop(key)
        self._entries[key] = value
        self._weight += self._weight_of(value)
        while self._weight > self._most:
            _, oldest = self._entries.popitem(last=False)
            self._weight -= self._weight_of(oldest)

    def pop(self, key: K) -> V | None:
        """Remove a key and return its value; None when there is none."""
        value = self._entries.pop(key, None)
        if value is not None:
            self._weight -= self._weight_of(value)
        return value

    def clear(self) -> None:
        """Remove every entry."""
        self._entries.clear()
        self._weight = 0

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        """Return whether there is an entry; this does not make it the latest."""
        return key in self._entries

    def _weight_of(self, value: V) -> int:
        return 1 if self._weigh is None else self._weigh(value)
