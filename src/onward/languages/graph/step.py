"""One visit of a node: evaluate its parameters, and for a control node decide its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

import msgspec

from onward.errors import ExpressionError
from onward.kernel.messages import Token
from onward.kernel.outcome import (
    Arrived,
    Failed,
    NodeError,
    Outcome,
    Routed,
    Scattered,
    Succeeded,
    Suspended,
)
from onward.kernel.program import Activity, LinkRequest
from onward.kernel.timestamps import LATEST_MS, from_iso, to_iso
from onward.languages.graph import node_links, signal_waits
from onward.languages.graph.compiled_node import CompiledNode
from onward.languages.graph.control_nodes import (
    UNIT_MS,
    AggregatorNode,
    ApprovalNode,
    ConditionalNode,
    ControlNode,
    FailNode,
    LogNode,
    ManualTriggerNode,
    MergeNode,
    NoopNode,
    SplitNode,
    SwitchNode,
    TransformNode,
    WaitForSignalNode,
    WaitNode,
)

JSON_TYPES = {
    dict: "an object",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def step(node: CompiledNode, token: Token, view: Mapping[str, Any]) -> Activity | Outcome:
    """Return the activity at `node`, or the outcome of a node that has none."""
    if node.trigger:
        return Succeeded(view.get("trigger"))
    try:
        expressions = NodeExpressions(node, token, view)
        parameters = expressions.parameters()
        if node.type.effect == "outside":
            return Activity(
                parameters,
                node.credential,
                node.timeout_s,
                runs_in=node.type.runs_in,
                memory_mb=node.type.memory_mb,
                links=expressions.links(),
            )
        return _control(parameters, token, expressions)
    except ExpressionError as problem:
        return Failed(_expression_error(problem))
    except msgspec.ValidationError as problem:
        return Failed(_parameter_error(problem))


class NodeExpressions:
    """The expressions of a node, evaluated on the data of one token."""

    def __init__(
        self, node: CompiledNode, token: Token, view: Mapping[str, Any], salt: str = "links"
    ) -> None:
        self._node = node
        self._token = token
        self._view = view
        self._marks = node_links.link_marks(node.links, token, salt)
        self.variables = {**view}
        if node.needs is None or "execution" in node.needs:
            self.variables["execution"] = {
                "id": token.execution_id,
                "workflow_id": token.workflow_id,
                "started_at": to_iso(token.started_at),
                "attempt": token.attempt,
                **({"links": self._marks} if node.links else {}),
            }
        if node.aliases:
            self.variables["node"] = {
                alias: view.get(node_id) for alias, node_id in node.aliases.items()
            }

    def parameters(self) -> Any:
        """Return the parameters, typed; raises for an expression or a type that fails."""
        return msgspec.convert(self._values(), self._node.type.parameters)

    def _values(self) -> Any:
        return self._node.template.render(
            self._view.get("input"), self.variables, now_ms=self._token.sent_at
        )

    def links(self) -> tuple[LinkRequest, ...]:
        """Return the links that the parameters have marks for; raises for a forged mark."""
        if not self._node.links:
            return ()
        others = NodeExpressions(self._node, self._token, self._view, "others")
        node_links.check_marks(self._marks, others._values())
        texts = self._node.link_texts.render(
            self._view.get("input"), self.variables, now_ms=self._token.sent_at
        )
        return node_links.requested_links(self._node.links, texts, self._marks, self._token)

    @property
    def input(self) -> Any:
        """Return the node's input: the output of the node before."""
        return self._view.get("input")

    def jq(self, name: str) -> Any:
        """Return the value of a parameter that is jq."""
        try:
            return self._node.jq[name].evaluate(
                self._view.get("input"), self.variables, now_ms=self._token.sent_at
            )
        except ExpressionError as problem:
            raise ExpressionError(str(problem), code=problem.code, pointer=f"/{name}") from None


def _control(node: ControlNode, token: Token, expressions: NodeExpressions) -> Outcome:
    match node:
        case ConditionalNode():
            result = _true(expressions.jq("expression"))
            edge = node.true_edge_id if result else node.false_edge_id
            return Routed({"result": result}, (edge,) if edge else ())
        case SwitchNode():
            return _switch(node, expressions)
        case SplitNode():
            return _split(node)
        case AggregatorNode():
            return Arrived(expressions.jq("collect") if node.collect else expressions.input)
        case MergeNode():
            return Arrived()
        case WaitNode():
            return _wait(node, token)
        case WaitForSignalNode() | ApprovalNode():
            return signal_waits.wait_of(node, token)
        case TransformNode():
            return Succeeded(expressions.jq("expression"))
        case LogNode():
            return Succeeded({"message": node.message, "level": node.level})
        case FailNode():
            return Failed(NodeError(node.message, node.code))
        case ManualTriggerNode() | NoopNode():
            return Succeeded({})
        case _:
            assert_never(node)


def _true(value: Any) -> bool:
    """Return jq's truth: everything but null and false (0 == False in Python, so by identity)."""
    return value is not None and value is not False


def _switch(node: SwitchNode, expressions: NodeExpressions) -> Outcome:
    for index, case in enumerate(node.cases):
        if _true(expressions.jq(f"cases/{index}/when")):
            return Routed({"case": index}, (case.edge_id,))
    edge = node.default_edge_id
    return Routed({"case": "default"}, (edge,) if edge else ())


def _split(node: SplitNode) -> Outcome:
    items = node.input_array
    if not isinstance(items, list | tuple):
        kind = JSON_TYPES.get(type(items), type(items).__name__)
        message = f"input_array must be an array, but it is {kind}"
        return Failed(NodeError(message, "SPLIT_NOT_ARRAY", {"parameter": "/input_array"}))
    size = node.batch_size
    if size > 1:
        items = [items[start : start + size] for start in range(0, len(items), size)]
    window = node.max_concurrency or max(1, len(items))
    return Scattered(tuple(items), window, _budget(node, len(items)))


def _budget(node: SplitNode, total: int) -> int | None:
    if node.on_item_error == "halt":
        return 0
    tolerated = node.tolerated_failures
    if isinstance(tolerated, str):
        return int(total * float(tolerated.rstrip("%")) / 100)
    return tolerated


def _wait(node: WaitNode, token: Token) -> Outcome:
    if token.signal == "resume":
        return Succeeded({"resumed_at": to_iso(token.sent_at)})
    if node.resume == "until" and node.until is not None:
        try:
            return Suspended(from_iso(node.until))
        except (ValueError, OverflowError):
            message = f"until {node.until!r} is not an ISO 8601 date and time"
            return Failed(NodeError(message, "BAD_PARAMETER", {"parameter": "/until"}))
    due_ms = token.sent_at + round(node.amount * UNIT_MS[node.unit])
    return Suspended(min(due_ms, LATEST_MS))


def _expression_error(problem: ExpressionError) -> NodeError:
    where = problem.pointer or "/"
    return NodeError(f"parameter {where}: {problem}", problem.code, {"parameter": where})


def _parameter_error(problem: msgspec.ValidationError) -> NodeError:
    text, _, path = str(problem).partition(" - at ")
    where = path.strip("`").removeprefix("$").replace(".", "/").replace("[", "/").replace("]", "")
    message = f"parameter {where or '/'}: {text[0].lower()}{text[1:]}"
    return NodeError(message, "BAD_PARAMETER", {"parameter": where or "/"})
