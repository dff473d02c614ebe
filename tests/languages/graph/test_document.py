"""The shape of a document: fields, defaults, and every fault at once."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.errors import DefinitionError
from onward.kernel.retry import RetryPolicy
from onward.languages.graph.document import parse, parse_definition
from onward.languages.graph.model import EdgeDocument, ErrorPolicy, NodeDocument

FULL = """
id: order
name: An order
description: All fields there are
version: 3
nodes:
  - id: fetch
    name: Fetch it
    type: http
    trigger: false
    parameters: {url: "https://example.org"}
    credentials: {name: api}
    error: {type: branch, error_edge: broken}
    retry: {max_attempts: 3, delay: 2, backoff: linear, max_delay: 9, jitter: 0.5, on: HTTP_TIMEOUT}
    timeout: 1.5
    position: {x: 1, y: 2}
    output: {}
  - {id: ok, type: noop}
edges:
  - {src: fetch, dst: ok}
  - {id: broken, src: fetch, dst: ok, kind: error}
"""


def faults(text, file=""):
    with pytest.raises(DefinitionError) as caught:
        parse(text, file=file)
    return [(problem.code, problem.line) for problem in caught.value.problems]


def test_every_field_is_read():
    document = parse(FULL)

    assert ("order", "An order") == (document.id, document.name)
    assert (
        NodeDocument(
            id="fetch",
            type="http",
            name="Fetch it",
            parameters={"url": "https://example.org"},
            credentials="api",
            error=ErrorPolicy("branch", "broken"),
            retry=RetryPolicy(3, 2.0, "linear", 9.0, 0.5, ("HTTP_TIMEOUT",)),
            timeout=1.5,
            position={"x": 1, "y": 2},
        )
        == document.nodes[0]
    )
    assert NodeDocument(id="ok", type="noop", name="ok") == document.nodes[1]
    assert (
        EdgeDocument("fetch->ok", "fetch", "ok"),
        EdgeDocument("broken", "fetch", "ok", "error"),
    ) == document.edges


def test_the_source_is_the_same_for_the_same_document_in_any_writing():
    document = parse(FULL)
    as_json = json.dumps(json.loads(document.source), indent=3)

    assert document == parse(as_json) == parse(document.source)
    assert document.source == parse(as_json).source


def test_nodes_may_be_a_mapping_by_id_and_keep_their_order():
    document = parse("id: w\nnodes:\n  z: {type: noop}\n  a: {type: log}\n")

    assert [("z", "noop"), ("a", "log")] == [(node.id, node.type) for node in document.nodes]
    assert document == parse(document.source)
    assert (4, 3) == document.places["/nodes/1"]


def test_the_id_of_a_workflow_comes_from_its_file_when_it_has_none():
    text = "nodes: {a: {type: noop}}"

    assert "my_flow-2" == parse(text, file="/some where/my flow-2.yaml").id
    assert "x_y" == parse(text, file="C:\\flows\\x.y.yaml").id
    assert "workflow" == parse(text, file="-").id == parse(text).id
    assert b'"id":"x_y"' in parse(text, file="x.y.yml").source


def test_edges_without_an_id_get_one_that_nobody_has():
    text = """
nodes: {a: {type: noop}, b: {type: noop}}
edges: [{src: a, dst: b}, {src: a, dst: b}, {src: a, dst: b, id: "a->b#2"}]
"""

    assert ["a->b", "a->b#3", "a->b#2"] == [edge.id for edge in parse(text).edges]


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("kind: error", "error"),
        ("kind: success", "success"),
        ('is_error: "error"', "error"),
        ("is_error: true", "error"),
        ("is_error: false", "success"),
        ('is_error: ""', "success"),
        ("is_error: null", "success"),
    ],
)
def test_the_kind_of_an_edge_is_read_in_both_spellings(field, kind):
    text = f"nodes: {{a: {{type: noop}}}}\nedges:\n  - {{src: a, dst: b, {field}}}\n"

    assert kind == parse(text).edges[0].kind


def test_an_edge_that_its_node_names_as_error_edge_is_one():
    text = """
nodes: {a: {type: noop, error: {type: branch, error_edge: e}}}
edges: [{id: e, src: a, dst: b}, {id: f, src: a, dst: c}]
"""

    assert ["error", "success"] == [edge.kind for edge in parse(text).edges]


def test_the_trigger_alone_may_be_called_trigger():
    assert "trigger" == parse("nodes: {trigger: {type: manual_trigger}}").nodes[0].id
    assert [("RESERVED_ID", 1)] == faults("nodes: {trigger: {type: noop}}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n", [("NOT_A_WORKFLOW", 1)]),
        ("just text\n", [("NOT_A_WORKFLOW", 1)]),
        ("name: x\n", [("MISSING_FIELD", 1)]),
        ("nodes: 3\n", [("BAD_FIELD", 1)]),
        ("nodes: [3]\n", [("BAD_FIELD", 1)]),
        ("nodes: []\nedges: {a: b}\n", [("BAD_FIELD", 2)]),
        ("nodes: []\nedges: [x]\n", [("BAD_FIELD", 2)]),
        ("id: a b\nnodes: []\n", [("BAD_ID", 1)]),
        ("id: 3\nnodes: []\n", [("BAD_FIELD", 1)]),
        ("nodes: []\nversion: [1]\n", [("BAD_FIELD", 2)]),
        ("nodes:\n  - {id: a}\n", [("MISSING_FIELD", 2)]),
        ("nodes:\n  - {type: noop}\n", [("MISSING_FIELD", 2)]),
        ("nodes:\n  - {id: 1, type: noop}\n", [("BAD_FIELD", 2)]),
        ("nodes:\n  - {id: ä, type: noop}\n", [("BAD_ID", 2)]),
        ("nodes:\n  - {id: item, type: noop}\n", [("RESERVED_ID", 2)]),
        ("nodes:\n  a: {id: b, type: noop}\n", [("BAD_ID", 2)]),
        ("nodes:\n  a:\n", [("BAD_FIELD", 2)]),
        ("nodes:\n  a:\n    type: noop\n    trigger: 'yes'\n", [("BAD_FIELD", 4)]),
        ("nodes:\n  a:\n    type: noop\n    parameters: []\n", [("BAD_FIELD", 4)]),
        ("nodes:\n  a:\n    type: noop\n    timeout: 0\n", [("BAD_FIELD", 4)]),
        ("nodes:\n  a:\n    type: noop\n    timeout: 30s\n", [("BAD_FIELD", 4)]),
        ("nodes:\n  a:\n    type: noop\n    timeout: true\n", [("BAD_FIELD", 4)]),
        ("nodes:\n  a:\n    type: noop\n    error: {type: stop}\n", [("BAD_FIELD", 4)]),
        ("nodes:\n  a:\n    type: noop\n    error: halt\n", [("BAD_FIELD", 4)]),
        ("nodes:\n  a:\n    type: noop\n    retry: 3\n", [("BAD_FIELD", 4)]),
        ("nodes:\n  a:\n    type: noop\n    retry: {max_attempts: 1.5}\n", [("BAD_FIELD", 4)]),
        ("nodes:\n  a:\n    type: noop\n    retry: {on: [1]}\n", [("BAD_FIELD", 4)]),
        ("nodes:\n  a:\n    type: noop\n    retry: {delay: -1}\n", [("BAD_FIELD", 4)]),
        ("nodes:\n  a:\n    type: noop\n    credentials: {token: x}\n",
         [("MISSING_FIELD", 4), ("UNKNOWN_FIELD", 4)]),
        ("nodes:\n  a: {type: noop}\nedges:\n  - {src: a}\n", [("MISSING_FIELD", 4)]),
        ("nodes: []\nedges:\n  - {src: a, dst: b, kind: oops}\n", [("BAD_FIELD", 3)]),
        ("nodes: []\nedges:\n  - {src: a, dst: b, is_error: oops}\n", [("BAD_FIELD", 3)]),
        ("nodes: []\nedges:\n  - {src: a, dst: b, kind: success, is_error: true}\n",
         [("BAD_FIELD", 3)]),
        ("nodes: []\nedges:\n  - {src: a, dst: b, id: '$x'}\n", [("BAD_ID", 3)]),
    ],
)  # fmt: skip
def test_a_wrong_shape_is_reported_with_its_line(text, expected):
    assert expected == faults(text)


def test_every_fault_is_reported_at_once_in_the_order_of_the_text():
    text = """
id: bad id
nodes:
  - id: a
    typ: noop
    retry: {max_attempts: 0, jiter: 1}
  - {id: b, type: noop, timeout: -1}
edges:
  - {src: a, dest: b}
x: 1
x: 2
"""

    assert [
        ("BAD_ID", 2),
        ("MISSING_FIELD", 4),
        ("UNKNOWN_FIELD", 5),
        ("BAD_FIELD", 6),
        ("UNKNOWN_FIELD", 6),
        ("BAD_FIELD", 7),
        ("MISSING_FIELD", 9),
        ("UNKNOWN_FIELD", 9),
        ("DUPLICATE_KEY", 11),
    ] == faults(text)


def test_a_misspelt_field_is_guessed():
    with pytest.raises(DefinitionError, match='did you mean "parameters"'):
        parse("nodes: {a: {type: noop, paramters: {}}}")


def test_a_decoded_definition_is_read_like_text():
    document = parse(FULL)

    assert document == parse_definition(json.loads(document.source))
    assert "given" == parse_definition({"nodes": []}, default_id="given").id


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"nodes": [], "x": float("nan")}, "BAD_NUMBER"),
        ({"nodes": [], "x": "\ud800"}, "BAD_TEXT"),
        ({"nodes": [], 1: 2}, "KEY_NOT_TEXT"),
        ({"nodes": [], "x": {1, 2}}, "NOT_JSON"),
        ({"nodes": [], "x": "y" * (6 * 1024 * 1024)}, "TOO_LARGE"),
        (None, "NOT_A_WORKFLOW"),
    ],
)
def test_a_decoded_definition_that_is_not_json_is_refused(value, code):
    with pytest.raises(DefinitionError) as caught:
        parse_definition(value)

    assert [code] == [problem.code for problem in caught.value.problems]


def test_a_definition_that_is_nested_too_deeply_is_refused():
    value = []
    for _ in range(5000):
        value = [value]

    with pytest.raises(DefinitionError, match="TOO_DEEP"):
        parse_definition({"nodes": value})


NAMES = st.sampled_from(
    ("id", "type", "nodes", "edges", "retry", "error", "src", "dst", "kind", "on", "timeout", "x")
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | NAMES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=30,
)


@given(st.fixed_dictionaries({"nodes": VALUES, "edges": VALUES}) | VALUES)
def test_any_value_is_a_document_or_refused_and_nothing_else(value):
    try:
        document = parse_definition(value)
    except DefinitionError as error:
        assert error.problems
    else:
        assert document == parse(document.source)
