"""What there is to do at a node: resolve its parameters, and for a control node decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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

UNIT_MS = {"seconds": 1_000, "minutes": 60_000, "hours": 3_600_000, "days": 86_400_000}
JSON_TYPES = {
    dict: "an object",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def step(node: CompiledNode, token: Token, view: Mapping[str, Any]) -> Activity | Outcome:
    """Return the activity at `node`, or what the node came to."""
    if node.trigger:
        return Succeeded(view.get("trigger"))
    try:
        resolved = Resolved(node, token, view)
        parameters = resolved.parameters()
        if node.type.effect == "outside":
            kind = node.type
            return Activity(
                parameters,
                node.credential,
                node.timeout_s,
                runs_in=kind.runs_in,
                memory_mb=kind.memory_mb,
                links=resolved.links(),
            )
        return _control(node, token, parameters, resolved)
    except ExpressionError as problem:
        return Failed(_expression_error(problem))
    except msgspec.ValidationError as problem:
        return Failed(_parameter_error(problem))


class Resolved:
    """A node's parameters on the data of one token."""

    def __init__(
        self, node: CompiledNode, token: Token, view: Mapping[str, Any], salt: str = "links"
    ) -> None:
        self._node = node
        self._token = token
        self._view = view
        self._marks = node_links.marks(node.links, token, salt)
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
        """Return the links that the parameters have marks for; raises for one that was made up."""
        if not self._node.links:
            return ()
        others = Resolved(self._node, self._token, self._view, "others")
        node_links.check_marks(self._marks, others._values())
        texts = self._node.link_texts.render(
            self._view.get("input"), self.variables, now_ms=self._token.sent_at
        )
        return node_links.ask(self._node.links, texts, self._marks, self._token)

    @property
    def input(self) -> Any:
        """Return what came in: the output of the node before."""
        return self._view.get("input")

    def jq(self, name: str) -> Any:
        """Return the value of a parameter that is jq."""
        try:
            return self._node.jq[name].evaluate(
                self._view.get("input"), self.variables, now_ms=self._token.sent_at
            )
        except ExpressionError as problem:
            raise ExpressionError(str(problem), code=problem.code, pointer=f"/{name}") from None


def _control(node: CompiledNode, token: Token, given: Any, resolved: Resolved) -> Outcome:
    match node.kind:
        case "conditional":
            result = _true(resolved.jq("expression"))
            edge = given.true_edge_id if result else given.false_edge_id
            return Routed({"result": result}, (edge,) if edge else ())
        case "switch":
            return _switch(given, resolved)
        case "split":
            return _split(given)
        case "aggregator":
            return Arrived(resolved.jq("collect") if "collect" in node.jq else resolved.input)
        case "merge":
            return Arrived()
        case "wait":
            return _wait(given, token)
        case "wait_for_signal":
            return signal_waits.wait_for_signal(given, token)
        case "approval":
            return signal_waits.approval(given, token)
        case "transform":
            return Succeeded(resolved.jq("expression"))
        case "log":
            return Succeeded({"message": given.message, "level": given.level})
        case "fail":
            return Failed(NodeError(given.message, given.code))
        case _:
            return Succeeded({})


def _true(value: Any) -> bool:
    """Return jq's truth: everything but null and false (0 == False in Python, so by identity)."""
    return value is not None and value is not False


def _switch(given: Any, resolved: Resolved) -> Outcome:
    for index, case in enumerate(given.cases):
        if _true(resolved.jq(f"cases/{index}/when")):
            return Routed({"case": index}, (case.edge_id,))
    edge = given.default_edge_id
    return Routed({"case": "default"}, (edge,) if edge else ())


def _split(given: Any) -> Outcome:
    items = given.input_array
    if not isinstance(items, list | tuple):
        kind = JSON_TYPES.get(type(items), type(items).__name__)
        message = f"input_array must be an array, but it is {kind}"
        return Failed(NodeError(message, "SPLIT_NOT_ARRAY", {"parameter": "/input_array"}))
    size = given.batch_size
    if size > 1:
        items = [items[start : start + size] for start in range(0, len(items), size)]
    window = given.max_concurrency or max(1, len(items))
    return Scattered(tuple(items), window, _budget(given, len(items)))


def _budget(given: Any, total: int) -> int | None:
    if given.on_item_error == "halt":
        return 0
    tolerated = given.tolerated_failures
    if isinstance(tolerated, str):
        return int(total * float(tolerated.rstrip("%")) / 100)
    return tolerated  # type: ignore[no-any-return]  # typed by the node's own struct


def _wait(given: Any, token: Token) -> Outcome:
    if token.signal == "resume":
        return Succeeded({"resumed_at": to_iso(token.sent_at)})
    if given.resume == "until":
        try:
            return Suspended(from_iso(given.until))
        except (ValueError, OverflowError):
            message = f"until {given.until!r} is not an ISO 8601 date and time"
            return Failed(NodeError(message, "BAD_PARAMETER", {"parameter": "/until"}))
    due_ms = token.sent_at + round(given.amount * UNIT_MS[given.unit])
    return Suspended(min(due_ms, LATEST_MS))


def _expression_error(problem: ExpressionError) -> NodeError:
    where = problem.pointer or "/"
    return NodeError(f"parameter {where}: {problem}", problem.code, {"parameter": where})


def _parameter_error(problem: msgspec.ValidationError) -> NodeError:
    text, _, path = str(problem).partition(" - at ")
    where = path.strip("`").removeprefix("$").replace(".", "/").replace("[", "/").replace("]", "")
    message = f"parameter {where or '/'}: {text[0].lower()}{text[1:]}"
    return NodeError(message, "BAD_PARAMETER", {"parameter": where or "/"})
