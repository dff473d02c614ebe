"""Which signals a new attempt at a run has from the one before: pure, from its history.

What was given stays given: nobody is asked again for a wait that is kept, nor for one that the run
had not come to the end of. Only a wait that ended and is executed again is asked for again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from onward.expressions import compile_template
from onward.kernel.lineage import Lineage, describe
from onward.kernel.waiting import APPROVAL, address_of, read_address
from onward.languages.graph.model import NodeDocument
from onward.languages.graph.program import GraphProgram
from onward.ports.journal import NodeRun
from onward.ports.signals import KeptSignal

_ANY = "*"
_ENDS = frozenset({"success", "failed"})


def inherited(
    program: GraphProgram,
    history: Iterable[NodeRun],
    kept: Iterable[NodeRun],
    signals: Sequence[KeptSignal],
) -> list[KeptSignal]:
    """Return the signals that a new attempt at a run of a graph begins with."""
    nodes = {one.id: one for one in program.document.nodes}
    stays = {one.token_id for one in kept}
    standing: Counter[str] = Counter()
    again: Counter[str] = Counter()
    for one in history:
        place = _place(nodes.get(one.node_id), one.lineage)
        if place and one.status in _ENDS:
            (standing if one.token_id in stays else again)[place] += 1
    found = []
    for signal in signals:
        name, _ = read_address(signal.address)
        anywhere = address_of(name, _ANY)
        place = anywhere if anywhere in again or anywhere in standing else signal.address
        if again[place]:
            if name.startswith(APPROVAL) or not standing[place]:
                continue
            standing[place] -= 1  # each was taken by one wait, in the order they came
        found.append(signal)
    return found


def inherited_until(
    history: Iterable[NodeRun], named: frozenset[str], signals: Iterable[KeptSignal]
) -> list[KeptSignal]:
    """Return the signals that a new attempt at any other run begins with.

    Of those only time is known: what came before the first task that is named was for what is kept.
    """
    begun = [one.at_ms - one.duration_ms for one in history if one.node_id in named]
    until_ms = min(begun, default=None)
    return [one for one in signals if until_ms is None or one.sent_ms < until_ms]


def _place(node: NodeDocument | None, lineage: Lineage) -> str:
    """Return the address that a visit has waited at, with any key if that is worked out."""
    if node is not None and node.type == "approval":
        return address_of(f"{APPROVAL}{node.id}", describe(lineage))
    if node is None or node.type != "wait_for_signal":
        return ""
    name, key = node.parameters["signal"], node.parameters.get("key")
    if not compile_template(name).static:
        return ""
    if key is None:
        return address_of(name, describe(lineage))
    return address_of(name, str(key) if compile_template(key).static else _ANY)
