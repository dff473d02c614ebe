"""Text to value: what is read, what is refused, and where it says the fault is."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.errors import DefinitionError
from onward.languages.document.json import read_json
from onward.languages.document.source import read
from onward.languages.document.yaml import read_yaml
from onward.languages.graph.document import parse


def refusal(text, file=""):
    with pytest.raises(DefinitionError) as caught:
        read(text, file=file)
    (problem,) = caught.value.problems
    return problem


def test_yaml_reads_only_what_yaml_1_2_means():
    text = "\n".join(
        (
            "on: off",
            "time: 12:30",
            "date: 2024-01-31",
            "version: 1.10",
            "octal: 0o17",
            "hex: 0x1F",
            "big: 170141183460469231731687303715884105728",
            "nothing:",
            "tilde: ~",
            'quoted: "true"',
            "truth: True",
            "underscored: 1_000",
            "half: .5",
        )
    )

    assert {
        "on": "off",
        "time": "12:30",
        "date": "2024-01-31",
        "version": 1.1,
        "octal": 15,
        "hex": 31,
        "big": 2**127,
        "nothing": None,
        "tilde": None,
        "quoted": "true",
        "truth": True,
        "underscored": "1_000",
        "half": 0.5,
    } == read(text).value


def test_a_place_is_that_of_the_key_of_a_field_and_of_the_item_of_a_list():
    text = "nodes:\n  - id: a\n    parameters:\n      'x/y': 1\n"

    places = read(text).places

    assert (1, 1) == places["/nodes"]
    assert (2, 5) == places["/nodes/0"]
    assert (4, 7) == places["/nodes/0/parameters/x~1y"]


def test_json_and_yaml_give_the_same_places():
    text = '{"nodes": [\n  {"id": "a",\n   "position": [1, {"x": null}]}\n]}'

    assert read_json(text).places == read_yaml(text).places


@pytest.mark.parametrize(
    ("text", "line", "column", "word"),
    [
        ('{"a": 1,}', 1, 9, "comma"),
        ('{"a" 1}', 1, 6, "colon"),
        ('{"a": [1, 2}', 1, 12, "comma"),
        ('{"a": True}', 1, 7, "true, false and null"),
        ("{'a': 1}", 1, 2, "double quotes"),
        ("{a: 1}", 1, 2, "double quotes"),
        ('{"a": None}', 1, 7, "true, false and null"),
        ('{\n "a": "x\ny"}', 2, 7, "\\n"),
        ('{"a": "\\q"}', 1, 8, "backslash"),
        ('{"a": "\t"}', 1, 8, "\\t"),
        ('{"a": 1} x', 1, 10, "remove"),
        ('{"a": 1', 1, 8, "not closed"),
        ('{"a": 1 // one\n}', 1, 9, "comments"),
        ("\n", 1, 1, "empty"),
    ],
)
def test_a_json_mistake_is_placed_and_explained(text, line, column, word):
    problem = refusal(text, "flow.json")

    assert ("SYNTAX", line, column) == (problem.code, problem.line, problem.column)
    assert word in f"{problem.message} {problem.hint}"


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("", 1, "empty"),
        ("# nothing\n", 1, "empty"),
        ("nodes:\n\t- id: a\n", 2, "spaces"),
        ("nodes: []\n---\nnodes: []\n", 2, "file of its own"),
        ("a: *b\n", 1, "&b"),
        ("a: &a [*a]\n", 1, "inside the value"),
        ('name: "open\n', 2, "not closed"),
        ("url: {{ $a.b }}/path\n", 1, "quotes"),
        ("a: b: c\n", 1, "colon"),
        ("a: @b\n", 1, "quotes"),
        ("a: 1\n b: 2\n", 2, ""),
        ("a: [1, 2\nb: 3\n", 2, ""),
        ("a: \x01\n", 1, "\\x01"),
        ('a: "\\U00110000"\n', None, "escape"),
    ],
)
def test_a_yaml_mistake_is_placed_and_explained(text, line, word):
    problem = refusal(text, "flow.yaml")

    assert ("SYNTAX", line) == (problem.code, problem.line)
    assert word in f"{problem.message} {problem.hint}"


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("a: 1\nb: 2\na: 3\n", "DUPLICATE_KEY", 3),
        ('{"a": 1,\n"a": 2}', "DUPLICATE_KEY", 2),
        ("a: 1\n2: b\n", "KEY_NOT_TEXT", 2),
        ("a: 1\ntrue: b\n", "KEY_NOT_TEXT", 2),
        ("a:\n  url: {{ $x }}\n", "KEY_NOT_TEXT", 2),
        ("a: .nan\n", "BAD_NUMBER", 1),
        ("a: 1e999\n", "BAD_NUMBER", 1),
        ('{"a": -Infinity}', "BAD_NUMBER", 1),
        ('{"a": NaN}', "BAD_NUMBER", 1),
        (f"a: {'9' * 5000}\n", "BAD_NUMBER", 1),
        ('{"a": "\\ud800"}', "BAD_TEXT", 1),
        ('a: "\\ud800"\n', "BAD_TEXT", 1),
        ("a: !!str 3\n", "TAG", 1),
        ("a: !python/object:os.system x\n", "TAG", 1),
        ("base: &b {x: 1}\na:\n  <<: *b\n", "MERGE_KEY", 3),
    ],
)
def test_what_json_could_not_carry_is_a_problem_of_its_place(text, code, line):
    (problem,) = read(text).problems

    assert (code, line) == (problem.code, problem.line)


def test_a_mapping_with_two_faults_reports_both():
    assert ["DUPLICATE_KEY", "BAD_NUMBER"] == [
        problem.code for problem in read("a: 1\na: 2\nb: .inf\n").problems
    ]


def test_an_alias_repeats_its_value():
    assert {"a": [1], "b": [1]} == read("a: &x [1]\nb: *x\n").value


def test_aliases_of_aliases_are_stopped_before_they_grow():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]

    assert "TOO_LARGE" == refusal("\n".join(lines)).code


def test_aliases_cannot_nest_deeper_than_the_limit():
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 200)]

    assert "TOO_DEEP" == refusal("\n".join(lines)).code


@pytest.mark.parametrize("text", ["[" * 101 + "]" * 101, "- " * 101 + "x", "[" * 100_000])
def test_a_hundred_levels_are_the_limit(text):
    assert "TOO_DEEP" == refusal(text).code


def test_a_hundred_levels_are_read_in_both_formats():
    text = "[" * 99 + "1" + "]" * 99

    assert read_json(text).value == read_yaml(text).value


def test_more_than_five_megabytes_are_refused():
    assert "TOO_LARGE" == refusal(" " * (5 * 1024 * 1024 + 1)).code


def test_a_byte_order_mark_is_ignored():
    assert {"a": 1} == read(b"\xef\xbb\xbfa: 1").value == read("\ufeffa: 1").value


def test_bytes_that_are_not_utf_8_are_refused_with_their_line():
    problem = refusal(b"a: 1\nb: \xff\n")

    assert ("ENCODING", 2) == (problem.code, problem.line)


def test_half_a_surrogate_pair_in_the_text_itself_is_refused():
    assert "BAD_TEXT" == refusal("a: '\ud800'").code


def test_surrogate_pairs_are_joined_in_both_formats():
    assert {"a": "\U0001f600"} == read('{"a": "\\ud83d\\ude00"}').value
    assert {"a": "\U0001f600"} == read('a: "\\ud83d\\ude00"').value


def test_a_yaml_document_may_start_with_a_brace():
    assert {"a": "b"} == read("{a: b}").value


WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(JSON)
def test_every_json_value_is_read_as_it_was_written(value):
    text = json.dumps(value)

    assert value == read(text, file="a.json").value


@given(JSON)
def test_json_read_as_yaml_is_the_same_value(value):
    text = json.dumps(value)

    assert value == read_yaml(text).value


@settings(max_examples=300)
@given(st.text() | st.binary() | st.text(alphabet="{}[]:,-#&*!|>'\"%@`?~<> \n\tab1.\\"))
def test_any_text_is_read_or_refused_and_nothing_else(text):
    for file in ("", "a.json", "a.yaml"):
        try:
            parse(text, file=file)
        except DefinitionError as error:
            assert error.problems
