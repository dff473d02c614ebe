"""Expressions that would never end or never fit are stopped, and always at the same point."""

import pytest

from onward.errors import ExpressionError
from onward.expressions import Limits, compile_jq

BIG = "x" * 1_000_000


def deep(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


SMALL = Limits(steps=300_000, bytes=4 * 1024 * 1024)
"""A tenth of the usual budget, so that a hundred hostile expressions take seconds."""

VARIABLES = {"big": BIG, "deep": deep(1000)}

ENDLESS = r"""
[range(1e12)]
[range(0; infinite)]
[range(0; 1; 1e-320)]
def f: f; f
def f: ., f; [f]
def f: 1 + f; f
def f: [f]; f
def f(g): f(g | g); f(.)
def f: def g: g; g; f
[repeat(1)]
first(repeat(empty))
isempty(repeat(empty))
any(repeat(false); .)
until(false; .)
until(false; ., .)
[while(true; .)]
[recurse(. + 1)]
[limit(1e9; repeat(1))]
reduce range(1e10) as $i (0; . + 1)
reduce repeat(1) as $x (0; .)
foreach repeat(1) as $x (0; . + 1; empty)
(repeat(1) | empty) // 1
range(1; 1e9) | select(false)
[try repeat(1) catch .]
[.[repeat(0)]?]
[[range(10)] | combinations(12)]
[range(100000)] | [.[] as $x | .[] as $y | 1]
[range(3000)] - [range(3000)]
[range(1e5)] | contains([range(1e5)])
[range(1e5)] | indices([range(1e4)])
[range(1000) as $i | $big | @json | length]
[range(1000) as $i | try ($big + 1) catch 0]
$big | gsub("x"; "yy")
$big | [scan(".")]
reduce range(1e6) as $i ([]; .[$i] = 1)
""".strip().split("\n")

ENORMOUS = r"""
"x" * 1e9
"x" * 1e300
reduce range(100) as $i (0; [., .])
reduce range(100) as $i ({}; {a: ., b: .}) | tojson
reduce range(100) as $i ("x"; . + .)
reduce range(100) as $i ([1]; . + .)
reduce range(100) as $i (0; [., .]) == 1
[0] | until(false; [., .])
[foreach range(1e9) as $x ([]; . + [.])]
[] | .[10000000] = 1
[1] | .[range(1e9)] = 1
$big * 100
[limit(1e5; repeat($big))]
[range(1e5) | $big] | add
[range(1e5) | tojson] | join($big)
[range(100) | [$big]] | add
reduce range(50) as $i ("\""; @json)
$big | [match(""; "g")]
$big * 3 | explode
$big * 3 | split("")
{a: $big} | until(false; {a: (.a + .a)})
""".strip().split("\n")

DEEP = r"""
$deep | tojson
$deep | flatten
$deep == $deep
$deep | walk(.)
[$deep | ..]
{a: $deep}
reduce range(10000) as $i (0; [.])
[range(1000) | "a"] as $path | null | setpath($path; 1)
("[" * 5000) + ("]" * 5000) | fromjson
""".strip().split("\n")


@pytest.mark.parametrize("source", ENDLESS + ENORMOUS + DEEP)
def test_a_hostile_expression_is_stopped(source):
    with pytest.raises(ExpressionError) as caught:
        compile_jq(source).evaluate(None, VARIABLES, limits=SMALL)

    assert "EXPRESSION_LIMIT" == caught.value.code
    assert "the expression was stopped: " in str(caught.value)


@pytest.mark.parametrize("source", ["until(false; .)", "[range(1e12)]", "def f: [f]; f"])
def test_the_usual_budget_ends_too(source):
    with pytest.raises(ExpressionError, match="the expression was stopped: "):
        compile_jq(source).evaluate(None, {})


@pytest.mark.parametrize(
    "source",
    ['"{text}!" | test("(a+)+$")', '"{text}" | test("(a|a)*b")', '"{text}" | test("(.*)*x")'],
)
def test_a_pattern_cannot_make_matching_explode(source):
    assert compile_jq(source.replace("{text}", "a" * 5000)).evaluate(None, {}) is False


def test_a_pattern_that_would_fill_the_memory_is_refused():
    with pytest.raises(ExpressionError, match="repetition"):
        compile_jq('"a" | test("((a{1,1000}){1,1000}){1,1000}")').evaluate(None, {})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("until(. >= 100000; . + 1)", 100000),
        ("reduce range(100000) as $i (0; . + $i)", 4999950000),
        ("[range(100000)] | map(. * 2) | add", 9999900000),
        ("[range(100000)] | map_values(. + 1) | length", 100000),
        ("reduce range(5000) as $i ([]; . + [$i]) | length", 5000),
        ("reduce range(5000) as $i ({}; .[$i | tostring] += 1) | length", 5000),
        ("reduce range(20000) as $i ({}; .[$i % 10 | tostring] += [$i]) | length", 10),
        (
            "[range(10000) | {key: tostring, value: .}] | from_entries | with_entries(.) | length",
            10000,
        ),
        ("[range(20000)] | del(.[] | select(. % 2 == 0)) | length", 10000),
        ("[range(50000)] | group_by(. % 10) | length", 10),
        ("[limit(10; range(1; infinite))] | length", 10),
        ("$big | length", 1_000_000),
        ("$big | ascii_upcase | length", 1_000_000),
        ("def f: if . == 0 then 0 else . - 1 | f end; 50 | f", 0),
        ("[limit(5; repeat(1))] | length", 5),
    ],
)
def test_honest_work_fits_in_the_box(source, expected):
    assert expected == compile_jq(source).evaluate(0, VARIABLES)


def test_data_that_nests_deeply_can_be_walked_through_step_by_step():
    assert "array" == compile_jq("$deep | .[0][0] | type").evaluate(None, VARIABLES)
    assert 1000 == compile_jq("[$deep | paths] | length").evaluate(None, VARIABLES)
    assert 500 == compile_jq("walk(.) | tojson | (length - 1) / 2").evaluate(deep(500), {})


@pytest.mark.parametrize(
    ("source", "data"),
    [
        ("[range(1000)] | map(. + 1) | sort | tojson", None),
        (
            "[.[] | {a: .x, b: (.y | tostring)}] | group_by(.a)",
            [{"x": i % 3, "y": i} for i in range(50)],
        ),
        ("walk(.) | [paths] | length", deep(30)),
        ('gsub("(?<l>[a-z])"; "\\(.l)\\(.l)")', "hello world"),
    ],
)
def test_the_same_expression_on_the_same_data_costs_the_same(source, data):
    jq = compile_jq(source)
    enough = _least_steps(jq, data)

    def again(frames):
        return _least_steps(jq, data) if frames == 0 else again(frames - 1)

    assert enough == _least_steps(compile_jq(source), data) == again(200)


def _least_steps(jq, data):
    """Return the smallest budget the evaluation fits in."""
    low, high = 0, 2_000_000
    while low < high:
        middle = (low + high) // 2
        try:
            jq.evaluate(data, {}, limits=Limits(steps=middle))
        except ExpressionError:
            low = middle + 1
        else:
            high = middle
    return low


def test_how_deep_functions_may_call_does_not_depend_on_who_evaluates():
    jq = compile_jq("def f: if . == 0 then 0 else (. - 1 | f) + 1 end; f")

    def deepest(frames):
        if frames:
            return deepest(frames - 1)
        for levels in range(1000):
            try:
                jq.evaluate(levels, {})
            except ExpressionError:
                return levels
        return None

    assert deepest(0) == deepest(300)


def test_limits_can_be_tightened():
    with pytest.raises(ExpressionError, match="more than 10 steps"):
        compile_jq("[range(100)]").evaluate(None, {}, limits=Limits(steps=10))
    with pytest.raises(ExpressionError, match="larger than 100 bytes"):
        compile_jq('"x" * 200').evaluate(None, {}, limits=Limits(bytes=100))
    with pytest.raises(ExpressionError, match="more than 20 levels"):
        compile_jq("reduce range(50) as $i (0; [.])").evaluate(None, {}, limits=Limits(depth=20))
    with pytest.raises(ExpressionError, match="nests"):
        compile_jq("[[[[[[1]]]]]]").evaluate(None, {}, limits=Limits(depth=5))
