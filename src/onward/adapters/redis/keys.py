"""The names of a run's keys in Redis: all share the hash tag of the execution.

    exec:{ID}:done            hash    that the run began; how it ended (kept as a tombstone)
    exec:{ID}:groups          set     every group below that has keys
    exec:{ID}:timers          set     the timers that were set for the run
    exec:{ID}:holders         hash    which worker holds which token (`holders.py`)
    exec:{ID}:<group>:<kind>  one key for each kind of cell of a group

A group is the run itself, an item's scope ("<split>/<index>") or a split's barrier ("<split>").
`kernel/coordination.py` lists the kinds. A barrier's values are called `results`, as in RFC 004.
"""

from __future__ import annotations

from onward.kernel.lineage import Lineage, item_scope

SCOPE_KINDS = (
    *("live", "fate", "owner", "record", "left", "closed", "dead", "merge", "arrival", "split"),
    "taken",
)
RUN_KINDS = ("signal", "waiter", "heard")
SPLIT_KINDS = ("head", "slot", "results", "origin")


class Keys:
    """The keys of one state of a run."""

    def __init__(self, state_id: str) -> None:
        self.prefix = f"exec:{{{state_id}}}:"
        self.done = f"{self.prefix}done"
        self.groups = f"{self.prefix}groups"
        self.timers = f"{self.prefix}timers"
        self.holders = f"{self.prefix}holders"

    def of(self, group: str, *kinds: str) -> list[str]:
        """Return the keys of some kinds of a group."""
        name = group or "run"
        return [f"{self.prefix}{name}:{kind}" for kind in kinds]

    def closure(self, lineage: Lineage) -> list[str]:
        """Return the keys that say whether the run or a scope on a lineage is closed."""
        names = self.of("", "closed")
        for frame in lineage:
            names += self.of(frame.split_token, "head", "slot")
            names += self.of(item_scope(frame.split_token, frame.item_index), "closed")
        return names

    def whole(self, group: str) -> list[str]:
        """Return every key a group may have."""
        return self.of(group, *SCOPE_KINDS, *(SPLIT_KINDS if group else RUN_KINDS))
