"""Single expressions: what they yield, what they ask for, and how they fail."""

import contextlib
import copy
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expressions.programs import MIXED, PROGRAMS, SHOP
from onward.errors import ExpressionError
from onward.expressions import compile_jq

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


def evaluate(source, data=None, /, **variables):
    return compile_jq(source).evaluate(data, variables)


def failure(source, data=None, /, **variables):
    with pytest.raises(ExpressionError) as caught:
        evaluate(source, data, **variables)
    return caught.value


def test_braces_around_an_expression_are_optional():
    assert 3 == evaluate("1 + 2") == evaluate("{{ 1 + 2 }}") == evaluate("  {{1 + 2}} ")


def test_no_output_is_null_and_more_than_one_is_an_error_with_its_remedy():
    assert evaluate("empty") is None
    assert [1, 2] == evaluate("[1, 2]")
    error = failure("1, 2")
    assert "EXPRESSION_FAILED" == error.code
    assert "wrap it in [ ... ]" in str(error)


def test_a_variable_that_is_not_given_is_null():
    assert evaluate("$nobody.at.all") is None
    assert [None, 1] == evaluate("[$nobody, $x]", x=1)


@pytest.mark.parametrize(
    ("source", "names", "nodes", "all_nodes"),
    [
        ("$a + $b.c", {"a", "b"}, set(), False),
        ("1 as $a | $a + $b", {"b"}, set(), False),
        ("$a as $a | $a", {"a"}, set(), False),
        ("def f($a): $a + $b; f(1)", {"b"}, set(), False),
        ("reduce $list[] as $x (0; . + $x)", {"list"}, set(), False),
        (". as {$a, b: [$c]} | $a + $c + $d", {"d"}, set(), False),
        ('"text \\($in) here"', {"in"}, set(), False),
        ("{$a, b: $c}", {"a", "c"}, set(), False),
        ('$node.fetch.x + $node["B"]', set(), {"fetch", "B"}, False),
        ("$node | keys", set(), set(), True),
        ("$node[$name]", {"name"}, set(), True),
        ("{} as $node | $node.x", set(), set(), False),
        ("$ENV.HOME", set(), set(), False),
    ],
)
def test_an_expression_says_what_it_needs(source, names, nodes, all_nodes):
    jq = compile_jq(source)

    assert (names, nodes, all_nodes) == (jq.names, jq.nodes, jq.all_nodes)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "empty"),
        ("{{ }}", "empty"),
        ("1 +", "unexpected end"),
        ("(1", "expected ')' but got the end"),
        ('"abc', "unterminated string"),
        ("9" * 5000, "thousands of digits"),
        ("nope", "there is no function nope"),
        ("map(1; 2)", "map takes 1 argument(s)"),
        ("@nope", "@nope is not a format"),
        ("break $out", "no `label $out` around it"),
        ("$__prog_args", "not available"),
        ('import "a" as a; .', "import"),
        ('include "a"; .', "include"),
        *((name, "not available") for name in ("input", "inputs", "debug", "stderr", "halt")),
        *((name, "not available") for name in ("halt_error", "input_filename", "get_search_list")),
        ("|".join(["."] * 5000), "nests too deeply"),
        ("[" * 500 + "]" * 500, "nests too deeply"),
    ],
)
def test_what_is_not_jq_is_refused_when_it_is_compiled(source, words):
    with pytest.raises(ExpressionError) as caught:
        compile_jq(source)

    assert "EXPRESSION_SYNTAX" == caught.value.code
    assert words in str(caught.value)


def test_the_environment_is_empty(monkeypatch):
    monkeypatch.setenv("SECRET", "hunter2")

    assert [{}, {}, None] == evaluate("[env, $ENV, env.SECRET]")


def test_time_is_given_and_every_zone_is_utc(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    jq = compile_jq('[now, (now | localtime | mktime), (now | strflocaltime("%H %Z %z %s"))]')

    answer = jq.evaluate(None, {}, now_ms=1_700_000_000_500)

    assert [1_700_000_000.5, 1_700_000_000, "22 UTC +0000 1700000000"] == answer


def test_large_integers_stay_exact_and_endless_ones_become_the_largest_number():
    assert 2**53 + 1 == evaluate(".n", {"n": 2**53 + 1})
    assert 2**53 + 2 == evaluate(".n + 1", {"n": 2**53 + 1})
    assert "9007199254740993" == evaluate(".n | tostring", {"n": 2**53 + 1})
    assert 10**300 == evaluate("pow(10; 300)")
    assert 1.7976931348623157e308 == evaluate("pow(10; 400)")
    assert -1.7976931348623157e308 == evaluate("-pow(10; 400)")
    assert 3 == evaluate("1.5 * 2")
    assert isinstance(evaluate("1.5 * 2"), int)


def test_numbers_that_json_cannot_hold_are_replaced_anywhere_in_the_result():
    largest = 1.7976931348623157e308

    assert evaluate("nan") is None
    assert {"a": [None, largest, -largest]} == evaluate("{a: [nan, infinite, -infinite]}")
    assert [None, None] == evaluate("[-1 | sqrt, log]")
    assert [[None]] == evaluate("[nan] | group_by(.)")


@pytest.mark.parametrize(
    "source",
    ["length", "tojson", "[.] | tojson", "explode", "ascii_upcase", ". == .", "{(.): 1}", "@html"],
)
def test_lone_surrogates_are_carried(source):
    evaluate(source, "a\ud800")


@pytest.mark.parametrize("source", ["@uri", "@base64", "utf8bytelength", 'test("a")', ".a", "-."])
def test_lone_surrogates_are_refused_where_bytes_are_needed(source):
    assert "EXPRESSION_FAILED" == failure(source, "a\ud800").code


def test_a_failure_quotes_the_expression_and_says_what_was_wrong():
    assert 'expression `.a + 1`: string ("x") and number (1) cannot be added' == str(
        failure(".a + 1", {"a": "x"})
    )
    assert "expression `$a[0]`: cannot take item 0 of an object" == str(failure("$a[0]", a={}))
    assert 'expression `error({a: 1})`: {"a":1} (not a string)' == str(failure("error({a: 1})"))


def test_python_errors_inside_builtins_are_errors_that_try_can_catch():
    for source in [
        '"x" | strptime("%Z%Z")',
        "1e18 | todate",
        "nan | gmtime",
        '("9" * 5000) | tonumber',
        '("9" * 5000) | fromjson',
        "{} | flatten(-1)",
        "[[]] | implode",
        '0 | strftime("%99999999d")',
        '"a" | test("(")',
        '"a" | test("(?=a)")',
        '"a" | test("a"; "x")',
    ]:
        assert "EXPRESSION_FAILED" == failure(source).code
        assert "caught" == evaluate(f'try ({source}) catch "caught"')


@pytest.mark.parametrize(("data", "source"), PROGRAMS, ids=[source for _, source in PROGRAMS])
def test_data_is_never_changed(data, source):
    before = copy.deepcopy(data)

    with contextlib.suppress(ExpressionError):
        evaluate(f"[{source}]", data)

    assert before == data


def test_entries_with_keys_that_are_not_text_get_their_json_as_key():
    entries = [{"key": 0}, {"key": False}, {"key": None, "k": "z"}, {"name": "n", "value": 1}]

    assert {"0": None, "false": None, "z": None, "n": 1} == evaluate("from_entries", entries)


def test_an_update_does_not_reach_values_that_share_a_part():
    """A value put in two places is two values, also when a later path leads into one of them."""
    twice = 'if type == "array" then [.[0], .[0]] else . + 10 end'
    source = f"(.a[0].x, .a, .a[0].x) |= ({twice})"

    assert {"a": [{"x": 21}, {"x": 11}]} == evaluate(source, {"a": [{"x": 1}, {"x": 2}]})
    assert [{"x": 5}, {"x": 1}] == evaluate("[.a, .a] | .[0].x = 5", {"a": {"x": 1}})


@given(json_values, st.sampled_from([source for _, source in PROGRAMS]))
@settings(max_examples=300, deadline=None)
def test_any_data_gives_a_json_value_or_an_expression_error(data, source):
    try:
        answer = evaluate(f"[{source}]", data)
    except ExpressionError:
        return
    _assert_json(answer)


PIECES = [
    *(
        ". ",
        "| ",
        ", ",
        ".[] ",
        "[ ",
        "] ",
        "( ",
        ") ",
        "{a: ",
        "} ",
        "$x ",
        "1 ",
        '"s" ',
        "+ ",
        "* ",
    ),
    *("// ", "= ", "|= ", "? ", ".a ", ".. ", "map( ", "select( ", "repeat( ", "reduce ", "; "),
    *("range( ", "tojson ", "try ", "catch ", "def f: ", "f ", "recurse ", "path( ", "empty "),
    "as $y ",
]


@given(st.lists(st.sampled_from(PIECES), max_size=14))
@settings(max_examples=500, deadline=None)
def test_any_program_is_refused_fails_or_ends(parts):
    try:
        answer = compile_jq("".join(parts)).evaluate(SHOP, {"x": MIXED})
    except ExpressionError:
        return
    _assert_json(answer)


def _assert_json(value):
    match value:
        case float():
            assert math.isfinite(value)
        case list():
            for item in value:
                _assert_json(item)
        case dict():
            for key, item in value.items():
                assert isinstance(key, str)
                _assert_json(item)
        case _:
            assert value is None or isinstance(value, bool | int | str)
