"""The smallest tokens and questions that show one rule at a time."""

from msgspec import Raw
from msgspec.structs import replace

from onward.kernel.cells import MemoryCells
from onward.kernel.coordination import Coordination
from onward.kernel.effects import Abort, Arrive, Begin, Fill, Leave, Scatter, TryOpen
from onward.kernel.lineage import scope_of
from onward.kernel.messages import CompletionMessage, NodeExecutionMessage, item_frame

START = NodeExecutionMessage(
    workflow_id="wf",
    execution_id="x1",
    current_node="a",
    accumulated_context={},
    token_id="t",
    publish_id="p1",
    parent="origin",
    outcome="start",
)


def coordination(cells=None):
    """Return the coordination of a run that has begun."""
    run = Coordination(MemoryCells() if cells is None else cells)
    run.answer(Begin())
    return run


def token(name="t", **fields):
    """Return a token called `name`, the only child of its own parent unless `fields` say else."""
    return replace(START, **{"token_id": name, "parent": f"{name}-parent", **fields})


def again(one):
    """Return another physical copy of a token: same token, other publish."""
    return replace(one, publish_id=one.publish_id + "-again")


def item(split, index, total=3, outside=()):
    """Return the lineage of one item of `split`."""
    return (*outside, item_frame("x1", split, f"node-of-{split}", index, total))


def scatter(split="s", total=3, window=100, budget=None, outside=()):
    return Scatter(
        scope=scope_of(outside),
        lineage=outside,
        split=split,
        total=total,
        window=window,
        budget=budget,
        origin=f"origin of {split}".encode(),
    )


def leave(unit, lineage=(), by=None, value=b""):
    return Leave(
        scope=scope_of(lineage), lineage=lineage, unit=unit, by=by or unit or "", value=value
    )


def abort(unit, lineage, by=None, error=b"bad"):
    return Abort(scope=scope_of(lineage), lineage=lineage, unit=unit, by=by or unit, error=error)


def fill(index, by=None, split="s", value=None, failed=False):
    return Fill(
        split=split,
        index=index,
        by=by or f"i{index}",
        value=f"v{index}".encode() if value is None else value,
        failed=failed,
    )


def arrive(edge, expected=("e1", "e2"), quota=None, scope="", node="m", by=None):
    return Arrive(
        scope=scope,
        node=node,
        edge=edge,
        unit=f"by-{edge}",
        by=by or f"by-{edge}",
        payload=f"payload of {edge}".encode(),
        expected=expected,
        quota=quota,
    )


def try_open(by, expected=("e1", "e2"), quota=None, scope="", node="m"):
    return TryOpen(scope=scope, node=node, by=by, expected=expected, quota=quota)


def completion(status="completed"):
    return CompletionMessage(
        workflow_id="wf",
        execution_id="x1",
        status=status,
        final_context={"$a": Raw(b"1")},
        completed_at="2026-01-01T00:00:00.000Z",
        total_duration_ms=1,
    )
