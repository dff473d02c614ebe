"""Templates: references and jq inside parameters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.errors import ExpressionError
from onward.expressions import Limits, compile_template, find_errors

CONTEXT = {
    "user": {"name": "Zoë", "age": 31, "tags": ["a", "b"], "first name": "Z"},
    "cart": {"total": 12.5, "count": 2**53 + 1, "empty": None, "open": True},
    "list": [10, [20, 30]],
    "tricky": "{{ 1 + 1 }} and $user.name",
    "node": {"fetch": {"body": 1}, "Fetch it": {"body": 2}},
}


def render(value, **options):
    return compile_template(value).render(None, CONTEXT, **options)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("$user", CONTEXT["user"]),
        ("$user.age", 31),
        ("$user.tags[1]", "b"),
        ("$user.tags[-1]", "b"),
        ("$user.tags[7]", None),
        ("$list[1][0]", 20),
        ('$user["first name"]', "Z"),
        ('$user["\\u0061ge"]', 31),
        ("$cart.count", 2**53 + 1),
        ("$cart.empty.deeper[3].still", None),
        ("$missing", None),
        ("$missing.x", None),
        ("$node.fetch.body", 1),
        ('$node["Fetch it"].body', 2),
        ("{{ $user.age + 1 }}", 32),
        ("  {{ $user.tags }}\n", ["a", "b"]),
        ("{{ . }}", None),
        ('{{ {"a": {"b": "}}"}} }}', {"a": {"b": "}}"}}),
        ("{{{a: {b: 1}}}}", {"a": {"b": 1}}),
        ('{{ "x\\("}}" + "\\(1)")y" }}', "x}}1y"),
        ('{{ "\\"}}" }}', '"}}'),
        ("{{ empty }}", None),
        ("$ENV", {}),
        ("{{ env }}", {}),
    ],
)
def test_a_string_that_is_one_expression_becomes_its_value(template, expected):
    assert expected == render(template)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("Hello $user.name, you owe $cart.total.", "Hello Zoë, you owe 12.5."),
        ("$user.name!", "Zoë!"),
        (" $user.age", " 31"),
        ("$user.name$user.age", "Zoë31"),
        ("$user.tags[0]-$user.tags[1]", "a-b"),
        ("n=$cart.count", "n=9007199254740993"),
        ("$cart.empty|$cart.open|$user.tags", 'null|true|["a","b"]'),
        ("costs $5, $ 6, 7$", "costs $5, $ 6, 7$"),
        ("$$user.name is $user.name", "$user.name is Zoë"),
        ("$$", "$"),
        ("$$$user.age", "$31"),
        ("a {{ 1 + 1 }} b {{ $user.name }}", "a 2 b Zoë"),
        ("{{ 1 }}{{ 2 }}", "12"),
        ("{{ [1, {}] }}!", "[1,{}]!"),
        ("} }} {", "} }} {"),
        ("{{ 1 # }} a comment ends with its braces }}", "1 a comment ends with its braces }}"),
        ('{{ "{{" }} $user.age', "{{ 31"),
        ("$user.first name", "null name"),
        ("$user.age.", "31."),
        ("$user.age..", "31.."),
        ("$list[0]]", "10]"),
        ("$list[a]", "[10,[20,30]][a]"),
    ],
)
def test_in_longer_text_values_are_written_out(template, expected):
    assert expected == render(template)


def test_expressions_are_found_at_any_depth_and_keys_are_left_alone():
    template = {"$user.age": ["$user.age", {"x": ["{{ 1 }}", 5, None]}], "plain": True}

    assert {"$user.age": [31, {"x": [1, 5, None]}], "plain": True} == render(template)


def test_data_is_never_code():
    assert CONTEXT["tricky"] == render("$tricky")
    assert CONTEXT["tricky"] == render("{{ $tricky }}")
    assert f"<{CONTEXT['tricky']}>" == render("<$tricky>")
    assert {"a": CONTEXT["tricky"]} == render("{{ {a: $tricky} }}")


@given(st.text(alphabet=st.sampled_from(list('${}()[]."\\# anode|'))))
def test_any_data_passes_through_untouched(text):
    template = compile_template({"whole": "$data", "jq": "{{ $data }}", "text": "<$data>"})

    rendered = template.render(None, {"data": text})

    assert {"whole": text, "jq": text, "text": f"<{text}>"} == rendered


@given(st.text(alphabet=st.sampled_from(list('${}()[]."\\# abx1|'))))
def test_any_text_is_read_or_refused_with_a_syntax_error(text):
    errors = find_errors(text)

    if errors:
        assert ["EXPRESSION_SYNTAX"] == [error.code for error in errors]
    else:
        compile_template(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(alphabet="ab {}"),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("a$/~"), inner),
        max_leaves=10,
    ).filter(lambda value: "{{" not in repr(value))
)
def test_a_value_without_expressions_renders_to_itself(value):
    template = compile_template(value)

    assert template.static
    assert value == template.render(None, {})


def test_a_template_says_what_it_needs():
    template = compile_template(
        ["$user.name and $item", "{{ $cart as $x | $x + $input }}", "$node.a.b", '$node["B c"]']
    )

    assert {"user", "item", "cart", "input"} == template.names
    assert {"a", "B c"} == template.nodes
    assert not template.all_nodes
    assert not template.static


@pytest.mark.parametrize("text", ["$node", "{{ $node | keys }}", "{{ $node[.name] }}", "$node[0]"])
def test_any_other_use_of_node_needs_all_nodes(text):
    assert compile_template({"a": text}).all_nodes


def test_every_syntax_error_is_found_with_its_place():
    value = {"url": "{{ 1 + }}", "ok": "$user", "body": {"a/b": ["fine {{ 1", "{{ nope }}"]}}

    errors = find_errors(value)

    assert ["/url", "/body/a~1b/0", "/body/a~1b/1"] == [error.pointer for error in errors]
    assert ["EXPRESSION_SYNTAX"] * 3 == [error.code for error in errors]
    assert "column 6: '{{' is never closed" in str(errors[1])
    assert "there is no function nope" in str(errors[2])
    with pytest.raises(ExpressionError) as caught:
        compile_template(value)
    assert "/url" == caught.value.pointer


def test_a_failing_expression_names_its_place_and_both_types():
    with pytest.raises(ExpressionError) as caught:
        render({"query": [{"q": "$user.name.first"}]})

    assert "/query/0/q" == caught.value.pointer
    assert "EXPRESSION_FAILED" == caught.value.code
    assert 'expression `$user.name.first`: cannot take "first" of a string' == str(caught.value)


def test_a_text_that_grows_too_long_is_stopped():
    with pytest.raises(ExpressionError) as caught:
        render(["$user.name $user.name"], limits=Limits(bytes=4))

    assert ("EXPRESSION_LIMIT", "/0") == (caught.value.code, caught.value.pointer)


def test_a_value_that_nests_a_thousand_deep_is_passed_on_and_refused_as_text():
    deep = None
    for _ in range(1000):
        deep = [deep]

    assert deep is compile_template("$deep").render(None, {"deep": deep})
    with pytest.raises(ExpressionError, match="nests too deeply"):
        compile_template("x $deep").render(None, {"deep": deep})


def test_a_template_that_nests_too_deeply_is_refused():
    deep = "$user"
    for _ in range(5000):
        deep = [deep]

    assert ["EXPRESSION_LIMIT"] == [error.code for error in find_errors(deep)]


def test_the_time_is_the_one_given():
    assert "2023-11-14T22:13:20Z" == render("{{ now | todate }}", now_ms=1_700_000_000_000)
