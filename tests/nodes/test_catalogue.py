"""The names and parameters that documents rely on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from onward.bootstrap.catalogue import builtin
from onward.ports.nodes.node import NodeType, Runnable

FIXED = {
    "manual_trigger": "",
    "http": "method url query headers body timeout raise_on_status verify_tls follow_redirects "
    "max_bytes",
    "smtp": "to cc bcc from subject text html",
    "conditional": "expression true_edge_id false_edge_id",
    "switch": "cases default_edge_id",
    "split": "input_array max_concurrency batch_size tolerated_failures on_item_error",
    "aggregator": "timeout collect",
    "merge": "mode wait_mode n timeout",
    "wait": "resume amount unit until",
    "wait_for_signal": "signal key timeout expired_edge_id",
    "approval": "approvers required message timeout approved_edge_id rejected_edge_id "
    "expired_edge_id",
    "workflow": "workflow_id version input wait",
    "transform": "expression",
    "log": "message level",
    "noop": "",
    "fail": "message code",
}


def node_type(name: str) -> NodeType:
    found = builtin.get(name)
    assert found is not None
    return found


def built(name: str, **parameters: Any) -> Any:
    return msgspec.convert(parameters, node_type(name).parameters)


def problem(name: str, **parameters: Any) -> str:
    with pytest.raises(msgspec.ValidationError) as caught:
        built(name, **parameters)
    return str(caught.value)


def test_the_catalogue_holds_exactly_the_types_that_documents_know():
    assert set(FIXED) == {entry.name for entry in builtin}


@pytest.mark.parametrize("name", FIXED)
def test_every_parameter_that_documents_know_is_there(name: str):
    fields = {field.encode_name for field in msgspec.structs.fields(node_type(name).parameters)}

    assert set() == set(FIXED[name].split()) - fields


@pytest.mark.parametrize("name", FIXED)
def test_every_type_has_a_summary_and_a_closed_schema(name: str):
    entry = node_type(name)

    assert entry.summary.endswith(".")
    reference = entry.schema()["$ref"].rsplit("/", 1)[1]
    assert entry.schema()["$defs"][reference]["additionalProperties"] is False


@pytest.mark.parametrize("name", FIXED)
def test_only_nodes_that_touch_the_world_can_run(name: str):
    entry = node_type(name)

    assert (entry.effect == "outside") == issubclass(entry.parameters, Runnable)


def test_expressions_and_credentials_are_declared():
    assert {
        "conditional": ("expression",),
        "switch": ("cases/*/when",),
        "aggregator": ("collect",),
        "transform": ("expression",),
    } == {entry.name: entry.expressions for entry in builtin if entry.expressions}
    assert ["smtp"] == [entry.name for entry in builtin if entry.credential]


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("noop", {"x": 1}, "unknown field `x`"),
        ("split", {}, "missing required field `input_array`"),
        ("split", {"input_array": [], "max_concurrency": 0}, ">= 1"),
        ("split", {"input_array": [], "max_concurrency": "3"}, "got `str`"),
        ("split", {"input_array": [], "batch_size": 1.5}, "got `float`"),
        ("split", {"input_array": [], "batch_size": True}, "got `bool`"),
        ("split", {"input_array": [], "tolerated_failures": -1}, ">= 0"),
        ("split", {"input_array": [], "tolerated_failures": "101%"}, "a share such as '10%'"),
        ("split", {"input_array": [], "tolerated_failures": "5%\n"}, "a share such as '10%'"),
        ("split", {"input_array": [], "on_item_error": "stop"}, "'stop'"),
        ("switch", {"cases": []}, "length >= 1"),
        ("switch", {"cases": [{"when": "true"}]}, "missing required field `edge_id`"),
        ("conditional", {"expression": ""}, "length >= 1"),
        ("merge", {"wait_mode": "wait_for_n"}, "needs `n`"),
        ("merge", {"n": 2}, "`n` has no meaning with `wait_mode: wait_for_all`"),
        ("merge", {"timeout": 0}, "> 0"),
        ("wait", {"amount": -1}, ">= 0"),
        ("wait", {"amount": float("nan")}, ">= 0"),
        ("wait", {"amount": float("inf")}, "longer than 100 years"),
        ("wait", {"amount": 36_526, "unit": "days"}, "longer than 100 years"),
        ("wait", {"amount": 1, "unit": "weeks"}, "'weeks'"),
        ("wait", {"resume": "until"}, "needs `until`"),
        ("wait", {"resume": "until", "until": "tomorrow"}, "ISO 8601"),
        ("wait_for_signal", {"signal": "no spaces"}, "matching regex"),
        ("wait_for_signal", {"signal": "go", "expired_edge_id": "e"}, "needs `timeout`"),
        ("approval", {"approvers": []}, "length >= 1"),
        ("approval", {"approvers": ["a", "a"]}, "listed twice"),
        ("approval", {"approvers": ["a"], "required": 2}, "2 of 1 approvers is impossible"),
        ("workflow", {"workflow_id": "a b"}, "matching regex"),
        ("workflow", {"workflow_id": "a", "version": 0}, ">= 1"),
        ("log", {"level": "loud"}, "'loud'"),
        ("fail", {"code": ""}, "length >= 1"),
        ("http", {"url": "x", "method": "BREW"}, "'BREW'"),
        ("http", {"url": "x", "timeout": "5"}, "got `str`"),
        ("http", {"url": "x", "max_bytes": 0}, ">= 1"),
        ("http", {"url": "x", "headers": {"a": ["b"]}}, "got `array`"),
        ("http", {"url": "x", "raise_on_status": [99]}, ">= 100"),
        ("http", {"url": "x", "raise_on_status": ["6xx"]}, "write 404, '5xx' or '400-499'"),
        ("http", {"url": "x", "raise_on_status": ["499-400"]}, "write '400-499'"),
        ("smtp", {"to": "a@b.example"}, "`text`, `html` or both"),
        ("smtp", {"to": 5, "text": ""}, "got `int`"),
    ],
)
def test_a_wrong_parameter_is_refused_with_its_reason(
    name: str, parameters: dict[str, Any], words: str
):
    assert words in problem(name, **parameters)


@pytest.mark.parametrize("share", [None, 0, 7, "0%", "10%", "99.5%", "100%"])
def test_tolerated_failures_are_a_count_a_share_or_any(share: object):
    assert share == built("split", input_array=[], tolerated_failures=share).tolerated_failures


@pytest.mark.parametrize("until", ["2030-01-31T09:00:00Z", "2030-01-31T09:00+02:00", "2030-01-31"])
def test_until_takes_iso_8601(until: str):
    assert until == built("wait", resume="until", until=until).until


def test_defaults_are_those_of_the_reference():
    assert ("append", "wait_for_all", None) == (
        built("merge").mode,
        built("merge").wait_mode,
        built("merge").n,
    )
    assert (None, 1, None, "collect") == msgspec.structs.astuple(built("split", input_array=0))[1:]
    assert ("", "info") == msgspec.structs.astuple(built("log"))
    assert "FAILED" == built("fail").code
