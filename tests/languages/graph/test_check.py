"""Whether a document makes sense: each fault has its code, its line and a remedy."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.bootstrap.catalogue import builtin
from onward.languages.graph.check.document import check
from onward.languages.graph.document import parse, parse_definition

EXAMPLES = sorted(Path(__file__).parents[3].joinpath("examples").glob("*.yaml"))


def problems(text):
    return check(parse(text), builtin)


def found(text, severity="error"):
    return [(p.code, p.line) for p in problems(text) if p.severity == severity]


def graph(nodes, *edges):
    """Return a document: each node on its own line from line 2, edges `a b` or `a b kind id`."""
    lines = ["nodes:", *(f"  - {{{node}}}" for node in nodes), "edges:"]
    for edge in edges:
        src, dst, *rest = edge.split()
        extra = "".join(
            f", {key}: {value}" for key, value in zip(("kind", "id"), rest, strict=False)
        )
        lines.append(f"  - {{src: {src}, dst: {dst}{extra}}}")
    return "\n".join(lines)


def noops(*ids):
    return [f"id: {name}, type: noop" for name in ids]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_without_fault(path):
    assert [] == check(parse(path.read_bytes(), file=path.name), builtin)


def test_there_are_examples():
    assert len(EXAMPLES) >= 6


def test_a_sound_chain_has_no_problems():
    assert [] == problems(graph(noops("a", "b"), "a b"))


SPLIT = "id: s, type: split, parameters: {input_array: [1]}"
GATHER = "id: g, type: aggregator"
IF = "id: c, type: conditional, parameters: {expression: 'true', true_edge_id: t}"
ERRORS = {
    "an empty workflow": ("nodes: []", [("EMPTY_WORKFLOW", 1)]),
    "two nodes with one id": (graph(noops("a", "a")), [("DUPLICATE_NODE", 3)]),
    "two edges with one id": (
        graph(noops("a", "b"), "a b success e", "a b success e"),
        [("DUPLICATE_EDGE", 6)],
    ),
    "an edge to nowhere": (graph(noops("a"), "a b"), [("DANGLING_EDGE", 4)]),
    "an edge from nowhere": (graph(noops("a"), "b a"), [("DANGLING_EDGE", 4)]),
    "a self loop": (graph(noops("a"), "a a"), [("SELF_LOOP", 4)]),
    "a cycle": (
        graph(noops("a", "b", "c", "d"), "a b", "b c", "c d", "d b"),
        [("CYCLE", 10)],
    ),
    "an unknown type": ("nodes:\n  a:\n    type: htpp\n", [("UNKNOWN_TYPE", 3)]),
    "a missing parameter": (
        "nodes:\n  a:\n    type: http\n    parameters: {}\n",
        [("MISSING_PARAMETER", 4)],
    ),
    "an unknown parameter": (
        "nodes:\n  a:\n    type: log\n    parameters:\n      mesage: x\n",
        [("UNKNOWN_PARAMETER", 5)],
    ),
    "a parameter of the wrong type": (
        "nodes:\n  a:\n    type: http\n    parameters:\n      url: x\n      timeout: '3'\n",
        [("BAD_PARAMETER", 6)],
    ),
    "a parameter deep inside of the wrong type": (
        "nodes:\n  a:\n    type: switch\n    parameters:\n      cases:\n        - when: 1\n"
        "          edge_id: e\n",
        [("BAD_PARAMETER", 6), ("UNKNOWN_EDGE", 7)],
    ),
    "parameters that do not go together": (
        "nodes:\n  a:\n    type: wait\n    parameters: {resume: until}\n",
        [("BAD_PARAMETER", 4)],
    ),
    "an expression that does not parse": (
        "nodes:\n  a:\n    type: log\n    parameters:\n      message: ['{{ 1 + }}']\n",
        [("EXPRESSION_SYNTAX", 5)],
    ),
    "jq that does not parse": (
        "nodes:\n  a:\n    type: transform\n    parameters:\n      expression: '{'\n",
        [("EXPRESSION_SYNTAX", 5)],
    ),
    "two expressions that do not parse": (
        "nodes:\n  a:\n    type: log\n    parameters:\n      message:\n        - '{{ ( }}'\n"
        "        - '{{ ] }}'\n",
        [("EXPRESSION_SYNTAX", 6), ("EXPRESSION_SYNTAX", 7)],
    ),
    "an expression that names no node": (
        "nodes:\n  a:\n    type: log\n    parameters:\n      message: Hello $nobody.name\n",
        [("UNKNOWN_NODE", 5)],
    ),
    "a node name that nobody has": (
        "nodes:\n  a:\n    type: log\n    parameters:\n      message: $node.nobody.x\n",
        [("UNKNOWN_NODE", 5)],
    ),
    "a barrier that depends on data": (
        graph([*noops("a"), "id: m, type: merge, parameters: {timeout: $a.x}"], "a m"),
        [("NOT_FIXED", 3)],
    ),
    "an edge that a conditional names and nobody drew": (graph([IF]), [("UNKNOWN_EDGE", 2)]),
    "an edge of another node": (
        graph([IF, *noops("a", "b")], "a b success t", "c a success u"),
        [("FOREIGN_EDGE", 2), ("EDGE_NEVER_TAKEN", 7)],
    ),
    "an error edge as a conditional's answer": (
        graph([IF, *noops("a")], "c a error t"),
        [("WRONG_EDGE_KIND", 2)],
    ),
    "an edge that a conditional does not name": (
        graph([IF, *noops("a", "b")], "c a success t", "c b"),
        [("EDGE_NEVER_TAKEN", 7)],
    ),
    "an edge that a switch does not name": (
        graph(
            [
                "id: c, type: switch, parameters: {cases: [{when: 'true', edge_id: t}]}",
                *noops("a", "b"),
            ],
            "c a success t",
            "c b",
        ),
        [("EDGE_NEVER_TAKEN", 7)],
    ),
    "a default edge that does not exist": (
        graph(
            [
                "id: c, type: switch, parameters: {cases: [{when: 'true', edge_id: t}], "
                "default_edge_id: d}",
                *noops("a"),
            ],
            "c a success t",
        ),
        [("UNKNOWN_EDGE", 2)],
    ),
    "a branch without an edge": (
        graph(["id: a, type: noop, error: {type: branch}"]),
        [("MISSING_ERROR_EDGE", 2)],
    ),
    "a branch along a success edge": (
        graph(
            ["id: a, type: noop, error: {type: branch, error_edge: e}", *noops("b")],
            "a b success e",
        ),
        [("WRONG_EDGE_KIND", 2)],
    ),
    "a branch along no edge": (
        graph(["id: a, type: noop, error: {type: branch, error_edge: e}"]),
        [("UNKNOWN_EDGE", 2)],
    ),
    "an aggregator outside a split": (
        graph([*noops("a"), GATHER], "a g"),
        [("STRAY_AGGREGATOR", 3)],
    ),
    "a merge of a split's items with what is outside": (
        graph([*noops("a"), SPLIT, "id: m, type: merge"], "a s", "a m", "s m"),
        [("MIXED_SCOPES", 4)],
    ),
    "a node in two scopes that leads to an aggregator": (
        graph([*noops("a"), SPLIT, *noops("x"), GATHER], "a s", "a x", "s x", "x g"),
        [("MIXED_SCOPES", 4)],
    ),
    "a merge that nothing enters": (graph(["id: m, type: merge"]), [("MERGE_NEVER_OPENS", 2)]),
    "a merge that waits for more than there are": (
        graph(
            [*noops("a"), "id: m, type: merge, parameters: {wait_mode: wait_for_n, n: 2}"], "a m"
        ),
        [("MERGE_NEVER_OPENS", 3)],
    ),
    "a merge for n without n": (
        graph([*noops("a"), "id: m, type: merge, parameters: {wait_mode: wait_for_n}"], "a m"),
        [("BAD_PARAMETER", 3)],
    ),
    "a node that no trigger leads to": (
        graph(["id: t, type: manual_trigger", *noops("a", "b")], "t a"),
        [("UNREACHABLE", 4)],
    ),
    "a trigger that an edge enters": (
        graph([*noops("a"), "id: t, type: noop, trigger: true"], "a t"),
        [("UNREACHABLE", 2), ("TRIGGER_HAS_INPUT", 5)],
    ),
    "a mail without a credential": (
        graph(["id: a, type: smtp, parameters: {to: a@b.example, text: x}"]),
        [("MISSING_CREDENTIAL", 2)],
    ),
    "a name that two nodes have": (
        graph(
            [
                "id: a, name: X, type: noop",
                "id: b, name: X, type: noop",
                "id: c, type: log, parameters: {message: $node.X.y}",
            ],
            "a c",
            "b c",
        ),
        [("AMBIGUOUS_NAME", 4)],
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_is_found_at_its_line(case):
    text, expected = ERRORS[case]

    assert expected == found(text)


LOG = "id: l, type: log, parameters: {message: "
WARNINGS = {
    "an unknown field at the top": (
        "nodes: {a: {type: noop}}\nnode: x\n",
        [("UNKNOWN_FIELD", 2)],
    ),
    "an error edge that nobody takes": (
        graph(noops("a", "b"), "a b error e"),
        [("UNUSED_ERROR_EDGE", 5)],
    ),
    "a node that has not run by then": (
        graph([*noops("a"), LOG + "$b.x}", *noops("b")], "a l", "a b"),
        [("HAS_NOT_RUN", 3)],
    ),
    "a node by name that has not run by then": (
        graph([*noops("a"), LOG + "$node.b.x}", *noops("b")], "a l", "a b"),
        [("HAS_NOT_RUN", 3)],
    ),
    "an item outside a split": (graph([LOG + "$item.x}"]), [("NOT_IN_SPLIT", 2)]),
    "a node of a split seen from outside": (
        graph([SPLIT, *noops("x"), GATHER, LOG + "$x}"], "s x", "x g", "g l"),
        [("OUT_OF_SCOPE", 5)],
    ),
    "a leaf in two scopes": (
        graph([*noops("a"), SPLIT, *noops("x")], "a s", "a x", "s x"),
        [("SEVERAL_ARRIVALS", 4), ("MIXED_SCOPES", 4)],
    ),
    "a timeout on a control node": (
        graph(["id: a, type: noop, timeout: 3"]),
        [("USELESS_TIMEOUT", 2)],
    ),
    "a retry on a node that cannot fail": (
        graph(["id: a, type: noop, retry: {max_attempts: 3}"]),
        [("USELESS_RETRY", 2)],
    ),
    "several edges into a plain node": (
        graph(noops("a", "b", "c"), "a c", "b c"),
        [("SEVERAL_ARRIVALS", 4)],
    ),
    "several edges into an aggregator": (
        graph([SPLIT, *noops("x", "y"), GATHER], "s x", "s y", "x g", "y g"),
        [("SEVERAL_ARRIVALS", 5)],
    ),
}


@pytest.mark.parametrize("case", WARNINGS)
def test_a_warning_is_found_at_its_line_and_is_no_error(case):
    text, expected = WARNINGS[case]

    assert (expected, []) == (found(text, "warning"), found(text))


@pytest.mark.parametrize("case", [*ERRORS, *WARNINGS])
def test_every_problem_has_a_remedy(case):
    text, _ = {**ERRORS, **WARNINGS}[case]

    assert all(problem.hint for problem in problems(text))


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        ([SPLIT, LOG + '"$item $index"}', GATHER], ("s l", "l g")),
        ([SPLIT, *noops("x"), GATHER, LOG + "$g}"], ("s x", "x g", "g l")),
        ([*noops("a"), LOG + "$a.x $node.a.x $trigger $input $execution.id}"], ("a l",)),
        (["id: a, name: First, type: noop", LOG + "$node.First}"], ("a l",)),
        ([LOG + '"{{ . as $x | $x }} costs $5 or $$x"}'], ()),
        (['id: w, type: wait, parameters: {amount: "{{ 1 + 1 }}"}'], ()),
        (["id: f, type: fail, retry: {max_attempts: 2}"], ()),
    ],
)
def test_what_is_right_is_not_complained_about(nodes, edges):
    assert [] == problems(graph(nodes, *edges))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("nodes: {a: {type: htpp, parameters: {}}}", 'did you mean "http"?'),
        (graph([*noops("fetch-user"), LOG + "$fetch.x}"], "fetch-user l"), '$node["fetch-user"]'),
        (graph([*noops("fetch"), LOG + "$fetsh.x}"], "fetch l"), 'did you mean "fetch"?'),
        (graph(noops("one", "two"), "one tow"), 'did you mean "two"?'),
        (
            graph(["id: a, type: log, parameters: {level: warn}"]),
            'did you mean "warning"?',
        ),
    ],
)
def test_a_misspelling_is_guessed(text, hint):
    assert hint in problems(text)[0].hint


def test_a_cycle_is_named_by_its_path():
    (problem,) = problems(graph(noops("a", "b", "c"), "a b", "b c", "c b"))[-1:]

    assert "b -> c -> b" in problem.message


def test_every_problem_is_reported_at_once_in_the_order_of_the_text():
    text = graph(
        ["id: a, type: htpp", LOG + '"$zz and {{ ( }}"}', "id: l, type: noop"],
        "a nowhere",
        "a a",
    )

    assert [
        ("UNKNOWN_TYPE", 2),
        ("EXPRESSION_SYNTAX", 3),
        ("DUPLICATE_NODE", 4),
        ("DANGLING_EDGE", 6),
        ("SELF_LOOP", 7),
    ] == found(text)


def test_a_decoded_definition_is_checked_by_pointer():
    document = parse_definition({"nodes": [{"id": "a", "type": "nope"}]})

    (problem,) = check(document, builtin)

    assert ("/nodes/0/type", None) == (problem.pointer, problem.line)


IDS = st.sampled_from(("a", "b", "c", "d"))
TEXTS = st.sampled_from(("$a.x", "{{ $b }}", "{{ (", "$item", "e1", "e2", "1", "$zz", "x $c y"))
PARAMETERS = st.dictionaries(
    st.sampled_from(
        ("expression", "true_edge_id", "cases", "input_array", "n", "wait_mode", "message", "url")
    ),
    TEXTS
    | st.integers()
    | st.none()
    | st.lists(st.dictionaries(st.sampled_from(("when", "edge_id")), TEXTS), max_size=2),
    max_size=3,
)
NODES = st.fixed_dictionaries(
    {
        "id": IDS,
        "type": st.sampled_from(("nope", *(kind.name for kind in builtin))),
        "parameters": PARAMETERS,
        "error": st.sampled_from(
            ({}, {"type": "ignore"}, {"type": "branch"}, {"type": "branch", "error_edge": "e1"})
        ),
    }
)
EDGES = st.fixed_dictionaries(
    {
        "id": st.sampled_from(("e1", "e2", "e3", "e4", "e5")),
        "src": IDS,
        "dst": IDS,
        "kind": st.sampled_from(("success", "error")),
    }
)


@settings(max_examples=200)
@given(st.lists(NODES, max_size=5), st.lists(EDGES, max_size=6))
def test_any_document_can_be_checked(nodes, edges):
    document = parse_definition({"nodes": nodes, "edges": edges})

    for problem in check(document, builtin):
        assert problem.message
        assert problem.hint
