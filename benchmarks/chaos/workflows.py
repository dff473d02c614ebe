"""The load: small workflows that together use everything a run can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onward.bootstrap.catalogue import builtin
from onward.languages.graph.document import parse_definition
from onward.languages.graph.program import GraphProgram, compile_graph


@dataclass(frozen=True, slots=True)
class Workflow:
    """One workflow of the load."""

    program: GraphProgram
    racing: bool = False
    """Whether honest runs may differ in which branch came first; their `end` does not."""

    @property
    def name(self) -> str:
        """The workflow's id."""
        return self.program.workflow_id


def workflows(effects_url: str) -> tuple[Workflow, ...]:
    """Return the load; its effects are requests to `effects_url`."""
    documents = (
        _chain(),
        _nested(),
        _joining(),
        _deciding(),
        _retrying(),
        _rescuing(),
        _partial(),
        _halting(),
        _calling(effects_url),
    )
    steady = tuple(Workflow(_compiled(document)) for document in documents)
    return (*steady, Workflow(_compiled(_racing()), racing=True))


def _compiled(document: dict[str, Any]) -> GraphProgram:
    return compile_graph(parse_definition(document), builtin)


def _node(name: str, kind: str, **parameters: Any) -> dict[str, Any]:
    return {"id": name, "type": kind, "parameters": parameters}


def _transform(name: str, expression: str) -> dict[str, Any]:
    return _node(name, "transform", expression=expression)


def _document(name: str, nodes: list[dict[str, Any]], edges: str) -> dict[str, Any]:
    """Return a document; edges are written `a>b c>d`, and an edge's id is what is written."""
    pairs = [edge.split(">") for edge in edges.split()]
    return {
        "id": name,
        "nodes": [_node("start", "manual_trigger"), *nodes],
        "edges": [{"id": f"{a}>{b}", "src": a, "dst": b} for a, b in pairs],
    }


def _chain() -> dict[str, Any]:
    names = [f"n{i}" for i in range(6)]
    edges = " ".join(f"{a}>{b}" for a, b in zip(["start", *names], names, strict=False))
    return _document("chain", [_transform(name, "$trigger.n + 1") for name in names], edges)


def _nested() -> dict[str, Any]:
    return _document(
        "nested",
        [
            _node("outer", "split", input_array=[1, 2, 3, 4], max_concurrency=2),
            _node("inner", "split", input_array="{{ [range($item)] }}"),
            _transform("square", "$item * $item + $trigger.n"),
            _node("sum", "aggregator"),
            _node("all", "aggregator", collect="$sum | add"),
            _transform("end", "$all | add"),
        ],
        "start>outer outer>inner inner>square square>sum sum>all all>end",
    )


def _joining() -> dict[str, Any]:
    return _document(
        "joining",
        [
            _node("pause", "wait", amount=1, unit="seconds"),
            _transform("left", "$trigger.n"),
            _flaky("right", attempts=2),
            _node("both", "merge", timeout=3600),
            _transform("end", "$both | length"),
        ],
        "start>pause start>left start>right pause>both left>both right>both both>end",
    )


def _deciding() -> dict[str, Any]:
    """Return a merge behind a decision: it must not wait for the side that was not taken."""
    choice = _node(
        "choice",
        "conditional",
        expression="$trigger.n % 2 == 0",
        true_edge_id="choice>even",
        false_edge_id="choice>odd",
    )
    return _document(
        "deciding",
        [
            choice,
            _transform("even", '"even"'),
            _transform("odd", '"odd"'),
            _transform("always", "$trigger.n"),
            _node("both", "merge"),
            _transform("end", "$both"),
        ],
        "start>choice choice>even choice>odd start>always even>both odd>both always>both both>end",
    )


def _flaky(name: str, attempts: int) -> dict[str, Any]:
    not_yet = f'if $execution.attempt < {attempts} then error("not yet") else $trigger.n end'
    retry = {"max_attempts": attempts, "delay": 0.2, "backoff": "constant"}
    return {**_transform(name, not_yet), "retry": retry}


def _retrying() -> dict[str, Any]:
    return _document(
        "retrying",
        [
            _flaky("first", attempts=3),
            _node("pause", "wait", amount=0.3, unit="seconds"),
            _flaky("second", attempts=2),
            _transform("end", "$first + $second"),
        ],
        "start>first first>pause pause>second second>end",
    )


def _rescuing() -> dict[str, Any]:
    broken = _node("broken", "fail", message="as planned", code="PLANNED")
    broken["error"] = {"type": "branch", "error_edge": "broken>rescue"}
    return _document(
        "rescuing",
        [
            broken,
            _transform("missed", '"never"'),
            _transform("rescue", "$broken.error.code"),
            _transform("end", "[$rescue, $trigger.n]"),
        ],
        "start>broken broken>missed broken>rescue rescue>end",
    )


def _partial() -> dict[str, Any]:
    """Return a split of which every third item fails and every fourth takes a while."""
    sometimes = 'if $item % 3 == 0 then error("bad item") else $item + $trigger.n end'
    slow = _node(
        "slow",
        "conditional",
        expression="$item % 4 == 1",
        true_edge_id="slow>pause",
        false_edge_id="slow>work",
    )
    return _document(
        "partial",
        [
            _node("each", "split", input_array="{{ [range(9)] }}", max_concurrency=4),
            slow,
            _node("pause", "wait", amount=0.2, unit="seconds"),
            _transform("work", sometimes),
            _node("all", "aggregator"),
            _transform("end", '[$all[] | type == "object"] | map(select(.)) | length'),
        ],
        "start>each each>slow slow>pause slow>work pause>work work>all all>end",
    )


def _halting() -> dict[str, Any]:
    return _document(
        "halting",
        [
            _transform("before", "$trigger.n"),
            _node("stop", "fail", message="as planned", code="PLANNED"),
            _transform("after", "1"),
        ],
        "start>before before>stop stop>after",
    )


def _calling(url: str) -> dict[str, Any]:
    """Return a workflow with effects: each path of `url` is one visit of one node."""
    retry = {"max_attempts": 20, "delay": 0.5, "backoff": "constant"}
    place = f"{url}/{{{{ $execution.id }}}}"
    once = _node("once", "http", method="POST", url=f"{place}/once", body={"n": "$trigger.n"})
    many = _node("many", "http", method="POST", url=f"{place}/item-{{{{ $item }}}}")
    return _document(
        "calling",
        [
            {**once, "retry": retry},
            _node("each", "split", input_array=[0, 1, 2]),
            {**many, "retry": retry},
            _node("all", "aggregator", collect="$many.status"),
            _transform("end", "[$once.status, $all]"),
        ],
        "start>once once>each each>many many>all all>end",
    )


def _racing() -> dict[str, Any]:
    return _document(
        "racing",
        [
            _transform("quick", "$trigger.n"),
            _node("pause", "wait", amount=0.5, unit="seconds"),
            _transform("late", "$trigger.n"),
            _node("first", "merge", wait_mode="wait_for_any"),
            _transform("end", "$first"),
        ],
        "start>quick start>pause pause>late quick>first late>first first>end",
    )
