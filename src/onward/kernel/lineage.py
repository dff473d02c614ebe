"""Where a token stands among splits: the lineage stack of RFC 004, and the scope it names."""

from __future__ import annotations

import msgspec

ROOT = ""
"""The scope of the run itself."""


class Frame(msgspec.Struct, frozen=True, omit_defaults=True):
    """One level: item `item_index` of `total_items` of one run of a split node.

    `split_token` names that run of the split. Two items of an outer split that reach the same
    inner split have different ones, so their items never mix (RFC 004 keyed by node alone).
    """

    split_node_id: str
    branch_id: str
    item_index: int
    total_items: int
    split_token: str = ""


Lineage = tuple[Frame, ...]


def scope_of(lineage: Lineage) -> str:
    """Return the scope a token with this lineage lives in."""
    if not lineage:
        return ROOT
    top = lineage[-1]
    return item_scope(top.split_token, top.item_index)


def item_scope(split: str, index: int) -> str:
    """Return the scope of one item."""
    return f"{split}/{index}"


def describe(lineage: Lineage) -> str:
    """Return the lineage as people read it: `users[5] > orders[2]`."""
    return " > ".join(f"{frame.split_node_id}[{frame.item_index}]" for frame in lineage)
