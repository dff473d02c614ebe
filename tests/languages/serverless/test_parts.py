"""Small parts: durations, URI templates, the names of errors, pictures."""

import pytest

from languages.serverless.lab import workflow
from onward.errors import ExpressionError
from onward.kernel.outcome import NodeError
from onward.languages.graph.draw import mermaid, svg
from onward.languages.serverless.durations import duration_ms
from onward.languages.serverless.errors import activity_fault, name_of
from onward.languages.serverless.picture import picture_of
from onward.languages.serverless.read.arguments import UriTemplate
from onward.languages.serverless.read.document import parse_definition
from onward.languages.serverless.templates import EvaluationInput, expression_in


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("PT1S", 1000),
        ("P1DT2H3M4.5S", 93_784_500),
        ("P1Y2M3W4D", (365 + 60 + 21 + 4) * 86_400_000),
        ("PT0,25S", 250),
        ({"hours": 1, "milliseconds": 5}, 3_600_005),
        ({"seconds": 0.5}, 500),
    ],
)
def test_a_duration_is_read(value, ms):
    assert ms == duration_ms(value)


@pytest.mark.parametrize(
    "value",
    ["", "P", "PT", "1S", "PT1S ", "P1S", "PT-1S", "P200Y", {}, {"weeks": 1}, {"days": True},
     {"days": "1"}, {"days": -1}, {"days": float("nan")}, 5, None, []],
)  # fmt: skip
def test_what_is_no_duration_is_refused(value):
    with pytest.raises(ValueError, match=r"."):
        duration_ms(value)


@pytest.mark.parametrize(
    ("template", "data", "uri"),
    [
        ("http://x/{a}", {"a": "b c/d"}, "http://x/b%20c%2Fd"),
        ("http://x/{a}{b}", {"a": 1.5, "b": True}, "http://x/1.5true"),
        ("http://x/{a.b}", {"a.b": 1, "a": {"b": 2}}, "http://x/1"),
        ("http://x/{a}", {}, "http://x/"),
        ("http://x/{a}", None, "http://x/"),
        ("http://x/{a}", {"a": None}, "http://x/"),
    ],
)
def test_a_uri_template_takes_keys_as_they_are_written(template, data, uri):
    assert uri == UriTemplate(template).evaluate(EvaluationInput(data, {}, 0))


def test_a_uri_has_no_room_for_objects():
    with pytest.raises(ExpressionError, match="an object"):
        UriTemplate("http://x/{a}").evaluate(EvaluationInput({"a": {}}, {}, 0))


@pytest.mark.parametrize(
    ("text", "jq"),
    [("${ .a }", ".a"), ("  ${.a}\n", ".a"), ("${ {a: 1} }", "{a: 1}"), ("${\n.a\n}", ".a"),
     (".a", None), ("x ${ .a }", None), ("${}", None), ("$ { .a }", None)],
)  # fmt: skip
def test_a_text_is_an_expression_from_end_to_end_or_not_at_all(text, jq):
    assert jq == expression_in(text)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("https://serverlessworkflow.io/spec/1.0.0/errors/timeout", "timeout"),
        ("http://open-workflow-specification.org/spec/1.0.3/errors/timeout", "timeout"),
        ("https://serverlessworkflow.io/dsl/errors/types/timeout", "timeout"),
        ("timeout", "timeout"),
        ("https://serverlessworkflow.io/spec/1.0.0/errors/mine",
         "https://serverlessworkflow.io/spec/1.0.0/errors/mine"),
        ("https://example.com/errors/timeout", "https://example.com/errors/timeout"),
    ],
)  # fmt: skip
def test_a_standard_type_has_one_name(written, name):
    assert name == name_of(written)


@pytest.mark.parametrize(
    ("code", "details", "kind", "status"),
    [
        ("HTTP_STATUS", {"status": 404}, "communication", 404),
        ("HTTP_TLS", {}, "communication", 500),
        ("HTTP_TIMEOUT", {}, "communication", 504),
        ("NODE_TIMEOUT", {}, "timeout", 408),
        ("NODE_CRASHED", {}, "runtime", 500),
        ("OUTPUT_INVALID", {}, "runtime", 500),
        ("CREDENTIAL", {}, "authorization", 403),
    ],
)
def test_what_an_activity_says_has_a_standard_type(code, details, kind, status):
    fault = activity_fault(NodeError("m", code, details), "/do/0/a")

    assert (kind, status, "m", "/do/0/a") == (
        name_of(fault.type),
        fault.status,
        fault.detail,
        fault.instance,
    )


def test_a_workflow_has_a_picture():
    tree = parse_definition(
        workflow(
            {"a": {"set": {"n": 1}}},
            {"f": {"fork": {"branches": [{"x": {"set": {"n": 1}}}, {"y": {"wait": "PT1S"}}]}}},
            {"t": {"try": [{"b": {"set": {"n": 1}}}], "catch": {"do": [{"c": {"set": {"n": 1}}}]}}},
            {
                "u": {
                    "try": [{"r": {"raise": {"error": {"type": "https://e", "status": 500}}}}],
                    "catch": {"do": [{"m": {"set": {"n": 1}}}]},
                }
            },
            {"s": {"switch": [{"back": {"when": ".n", "then": "a"}}, {"on": {"then": "z"}}]}},
            {"z": {"set": {"n": 1}}},
        )
    )
    picture = picture_of(tree)
    ways = {(edge.src.rpartition("/")[2], edge.dst.rpartition("/")[2]) for edge in picture.edges}

    assert {
        ("a", "f"), ("f", "x"), ("f", "y"), ("x", "t"), ("y", "t"),
        ("t", "b"), ("t", "c"), ("b", "u"), ("c", "u"), ("u", "r"), ("u", "m"), ("m", "s"),
        ("s", "z"),
    } == ways  # fmt: skip
    assert "flowchart" in mermaid(picture)
    assert "<svg" in svg(picture)
