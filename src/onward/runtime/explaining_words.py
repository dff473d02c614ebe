"""How explanations name places and list names."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN = 5


def placed(node: str, item: str) -> str:
    """Return a node, and the item it is in if it is in one."""
    return f"{node} ({item})" if item else node


def listed(names: Sequence[str], shown: int = SHOWN) -> str:
    """Return names as one text; of many only the first."""
    if len(names) <= shown:
        return ", ".join(names)
    return f"{', '.join(names[:shown])} and {len(names) - shown} more"
