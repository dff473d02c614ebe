"""Which signals a new attempt has: what was given stays given, unless its wait is done again."""

from onward.bootstrap.catalogue import builtin
from onward.kernel.lineage import Frame
from onward.kernel.records import VisitRecord
from onward.languages.graph.document import parse_definition
from onward.languages.graph.program import compile_graph
from onward.ports.storage.signals import StoredSignal
from onward.runtime.control.retry_history import inherited_signals, signals_before

DOCUMENT = {
    "id": "flow",
    "nodes": [
        {"id": "one", "type": "wait_for_signal", "parameters": {"signal": "go"}},
        {"id": "two", "type": "wait_for_signal", "parameters": {"signal": "go"}},
        {"id": "key", "type": "wait_for_signal", "parameters": {"signal": "k", "key": "$one.id"}},
        {"id": "ask", "type": "approval", "parameters": {"approvers": ["ada", "bob"]}},
    ],
    "edges": [{"src": "one", "dst": "two"}],
}
PROGRAM = compile_graph(parse_definition(DOCUMENT), builtin)


def ended(node, token, status="success", lineage=(), at_ms=10):
    return VisitRecord(
        execution_id="r",
        token_id=token,
        node_id=node,
        status=status,
        attempt=1,
        at_ms=at_ms,
        duration_ms=1,
        lineage=lineage,
        output=None,
        output_ref=None,
        error=None,
    )


def sent(*places):
    return [
        StoredSignal(
            execution_id="r", address=place, signal_id=str(n), content=b"{}", sender="", sent_ms=n
        )
        for n, place in enumerate(places)
    ]


def kept(history, stays, signals):
    found = inherited_signals(
        PROGRAM, history, [one for one in history if one.token_id in stays], signals
    )
    return [(one.address, one.signal_id) for one in found]


def test_what_kept_waits_have_taken_and_what_nobody_has_yet_is_kept():
    history = [ended("one", "t1"), ended("ask", "t2")]
    signals = sent("go", "approval:ask", "approval:ask", "later", "go")

    assert 5 == len(kept(history, {"t1", "t2"}, signals))


def test_of_signals_of_one_name_so_many_are_kept_as_waits_are():
    history = [ended("one", "t1"), ended("two", "t2")]

    assert [("go", "0")] == kept(history, {"t1"}, sent("go", "go"))
    assert [] == kept(history, set(), sent("go", "go"))


def test_decisions_about_what_is_done_again_are_not_kept_but_those_of_other_items_are():
    items = [(Frame("each", "b", n, 2, "s"),) for n in range(2)]
    history = [ended("ask", "t0", lineage=items[0]), ended("ask", "t1", "failed", items[1])]
    signals = sent("approval:ask/each[0]", "approval:ask/each[1]", "approval:ask/each[2]")

    assert [("approval:ask/each[0]", "0"), ("approval:ask/each[2]", "2")] == kept(
        history, {"t0"}, signals
    )


def test_a_key_that_is_worked_out_stands_for_any():
    history = [ended("key", "t1"), ended("key", "t2")]

    assert [("k/7", "0")] == kept(history, {"t1"}, sent("k/7", "k/8"))
    assert 2 == len(kept(history, {"t1", "t2"}, sent("k/7", "k/8")))


def test_a_wait_that_did_not_end_has_what_was_given_so_far():
    assert [("approval:ask", "0")] == kept(
        [ended("ask", "t", "waiting")], set(), sent("approval:ask")
    )


def test_of_other_programs_what_came_before_the_named_task_is_kept():
    history = [ended("/do/0", "a", at_ms=2), ended("/do/1", "b", at_ms=4)]

    assert 6 == len(signals_before(history, frozenset(), sent(*"aaaaaa")))
    assert 3 == len(signals_before(history, frozenset({"/do/1"}), sent(*"aaaaaa")))
