"""Documents: every problem at once, each with its line, column, pointer and remedy."""

import pytest

from onward.errors import DefinitionError
from onward.languages.serverless.read.document import parse, parse_definition
from onward.languages.serverless.recognition import is_serverless

HEAD = "document: {dsl: '1.0.3', namespace: test, name: case, version: '1.0.0'}\n"


def problems(text):
    """Return what is wrong with a document."""
    with pytest.raises(DefinitionError) as refusal:
        parse(text, file="w.yaml")
    return refusal.value.problems


def test_a_document_is_of_this_language_when_it_says_its_version():
    assert is_serverless({"document": {"dsl": "1.0.3"}})
    assert not is_serverless({"nodes": [], "document": "dsl"})
    assert not is_serverless([])


def test_every_problem_is_told_at_once_with_its_place():
    text = HEAD + "do:\n  - one: {set: {a: '${ .x + }'}}\n  - two: {wat: 1}\nfoo: 1\n"

    found = [
        (problem.line, problem.column, problem.pointer, problem.code) for problem in problems(text)
    ]

    assert [
        (3, 17, "/do/0/one/set/a", "BAD_EXPRESSION"),
        (4, 5, "/do/1/two", "BAD_TASK"),
        (5, 1, "/foo", "UNKNOWN_FIELD"),
    ] == found


def test_a_component_that_is_wrong_and_used_twice_is_told_once():
    text = (
        HEAD
        + "use: {timeouts: {t: {after: soon}}}\n"
        + "do:\n  - a: {wait: PT1S, timeout: t}\n  - b: {wait: PT1S, timeout: t}\n"
    )

    assert ["/use/timeouts/t/after"] == [problem.pointer for problem in problems(text)]


def test_text_that_cannot_be_read_is_one_problem():
    assert ["SYNTAX"] == [problem.code for problem in problems(HEAD + "do: [")]


@pytest.mark.parametrize("value", [None, [], "text", 5])
def test_what_is_no_mapping_is_no_workflow(value):
    with pytest.raises(DefinitionError, match="must be a mapping"):
        parse_definition(value)


def test_a_text_that_only_looks_like_an_expression_is_a_warning():
    read = parse(HEAD + "do:\n  - a: {set: {x: 'Hello ${ .name }!'}}\n")

    (warning,) = read.warnings
    assert ("NOT_AN_EXPRESSION", 3, "/do/0/a/set/x") == (
        warning.code,
        warning.line,
        warning.pointer,
    )


def test_every_task_has_the_pointer_of_its_place():
    read = parse(
        HEAD
        + """
do:
  - t:
      try: [{a: {set: {n: 1}}}]
      catch: {do: [{b: {set: {n: 1}}}]}
  - l: {for: {in: "[]"}, do: [{c: {set: {n: 1}}}]}
  - f: {fork: {branches: [{d: {do: [{e: {set: {n: 1}}}]}}]}}
"""
    )

    assert {
        "",
        "/do/0/t",
        "/do/0/t/try/0/a",
        "/do/0/t/catch/do/0/b",
        "/do/1/l",
        "/do/1/l/do/0/c",
        "/do/2/f",
        "/do/2/f/fork/branches/0/d",
        "/do/2/f/fork/branches/0/d/do/0/e",
    } == set(read.tasks)


def test_the_document_is_kept_with_its_keys_in_order():
    read = parse(HEAD + "do:\n  - one: {set: {b: 1, a: 2}}\n")

    assert b'"set":{"b":1,"a":2}' in read.source
    assert read.source == parse(read.source).source


def test_a_place_that_is_too_long_is_refused():
    task = {"set": {"n": 1}}
    for _ in range(20):
        task = {"do": [{"x" * 60: task}]}
    with pytest.raises(DefinitionError, match="longer than 1000 bytes"):
        parse_definition(
            {
                "document": {"dsl": "1.0.3", "namespace": "n", "name": "a", "version": "1.0.0"},
                "do": [{"top": task}],
            }
        )


def test_a_document_that_nests_for_ever_is_refused():
    task = {"set": {"n": 1}}
    for _ in range(500):
        task = {"do": [{"x": task}]}
    with pytest.raises(DefinitionError, match="nested more than"):
        parse_definition({"document": {"dsl": "1.0.3"}, "do": [{"top": task}]})


def test_functions_that_call_functions_cannot_make_a_document_explode():
    functions = {
        f"f{n}": {"do": [{f"x{i}": {"call": f"f{n + 1}"}} for i in range(9)]} for n in range(8)
    }
    functions["f8"] = {"set": {"n": 1}}
    with pytest.raises(DefinitionError, match="called at more than 2000 places"):
        parse_definition(
            {
                "document": {"dsl": "1.0.3", "namespace": "n", "name": "a", "version": "1.0.0"},
                "use": {"functions": functions},
                "do": [{"go": {"call": "f0"}}],
            }
        )


def test_a_function_that_is_called_too_deep_inside_is_refused_there():
    name = "x" * 200
    deep = {"call": "f"}
    for _ in range(4):
        deep = {"do": [{name: deep}]}
    with pytest.raises(DefinitionError, match="longer than 1000 bytes") as refusal:
        parse_definition(
            {
                "document": {"dsl": "1.0.3", "namespace": "n", "name": "a", "version": "1.0.0"},
                "use": {"functions": {"f": {"do": [{name: {"set": {"n": 1}}}]}}},
                "do": [{"go": deep}],
            }
        )
    assert ["TOO_DEEP"] == [problem.code for problem in refusal.value.problems]
