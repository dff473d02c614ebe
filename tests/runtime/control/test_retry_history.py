"""What a new attempt keeps: rules that the simulator cannot show one by one."""

import msgspec

from api.documents import chain
from kernel.builders import token
from onward.bootstrap.catalogue import builtin
from onward.kernel.ids import derive
from onward.kernel.lineage import Frame
from onward.kernel.outcome import Outcome, Suspended
from onward.kernel.records import VisitRecord
from onward.languages.graph.document import parse_definition
from onward.languages.graph.program import compile_graph
from onward.runtime.control.retry_history import RetriedRun, RunOutline, count_repeated, kept_visits
from onward.runtime.token.restore import restorations_of

AFTER = {
    "first": frozenset({"each", "ask", "all", "after"}),
    "each": frozenset({"ask", "all", "after"}),
    "ask": frozenset({"all", "after"}),
    "all": frozenset({"after"}),
    "after": frozenset(),
    "beside": frozenset(),
}
GRAPH = RunOutline(AFTER, frozenset({"beside"}))


def visit(node, token=None, status="success", item=None, attempt=1):
    lineage = () if item is None else (Frame("each", f"b{item}", item, 9, "split"),)
    return VisitRecord(
        execution_id="old",
        token_id=token or (node if item is None else f"{node}{item}"),
        node_id=node,
        status=status,
        attempt=attempt,
        at_ms=0,
        duration_ms=0,
        lineage=lineage,
        output=None,
        output_ref=None,
        error=None,
    )


def kept(*history, outline=GRAPH, **again):
    return [
        (one.node_id, one.token_id) for one in kept_visits(history, RetriedRun(**again), outline)
    ]


def test_items_that_succeeded_are_kept_and_what_joins_them_is_not():
    history = [
        visit("first"),
        visit("ask", item=0),
        visit("ask", item=1, status="failed"),
        visit("each", "split"),
        visit("all", "split"),
        visit("after"),
    ]

    assert [("first", "first"), ("ask", "ask0")] == kept(*history)
    assert 1 == count_repeated(history, RetriedRun(), GRAPH)


def test_a_split_that_failed_because_of_its_items_does_not_take_the_others_with_it():
    history = [
        visit("ask", item=0),
        visit("ask", item=1, status="failed"),
        visit("each", "split", status="failed"),
    ]

    assert [("ask", "ask0")] == kept(*history)


def test_failures_that_the_workflow_handled_are_kept_unless_they_are_named():
    history = [visit("first"), visit("beside", status="failed")]

    assert [("first", "first"), ("beside", "beside")] == kept(*history)
    assert [("first", "first")] == kept(*history, nodes=frozenset({"beside"}))


def test_from_a_node_on_nothing_after_it_is_kept():
    history = [visit("first"), visit("ask", item=0), visit("after"), visit("beside")]

    found = kept(*history, nodes=frozenset({"ask"}))

    assert [("first", "first"), ("beside", "beside")] == found


def test_inside_one_item_only_that_item_is_executed_again():
    history = [visit("ask", item=0), visit("ask", item=1)]

    found = kept(*history, nodes=frozenset({"ask"}), item=(("each", 1),))

    assert [("ask", "ask0")] == found


def test_failed_items_of_other_splits_stay_as_they_are():
    other = visit("ask", item=1, status="failed")

    assert [] == kept(other)
    assert [("ask", "ask1")] == kept(other, split="another")


def test_all_attempts_of_a_visit_are_kept_together_or_not_at_all():
    again = derive("first", "retry")
    failed = visit("first", status="failed")

    assert [("first", "first"), ("first", again)] == kept(failed, visit("first", again, attempt=2))
    assert [] == kept(failed, visit("first", again, attempt=2, status="failed"))


def test_a_wait_that_did_not_end_is_not_kept():
    ended = derive("first", "resume")

    assert [] == kept(visit("first", status="waiting"))
    assert 2 == len(kept(visit("first", status="waiting"), visit("first", ended)))


def test_of_a_tree_what_came_before_its_end_is_kept():
    tree = RunOutline()
    history = [visit("a"), visit("b", status="failed"), visit("c"), visit("b", "b2", "failed")]

    assert ["a", "b", "c"] == [token for _, token in kept(*history, outline=tree, ended_at="b")]
    assert ["a", "b"] == [
        token for _, token in kept(*history, outline=tree, nodes=frozenset({"c"}))
    ]


def test_a_wait_that_has_ended_is_put_on_record_as_over_and_one_that_has_not_is_not():
    program = compile_graph(parse_definition(chain()), builtin)
    waits = [(visit("w", name, "waiting"), None) for name in ("over", "going")]

    found = list(restorations_of(program, token(), waits, {derive("over", "resume")}))

    assert ["over"] == [one.token_id for one in found]
    assert Suspended(0) == msgspec.json.decode(found[0].outcome, type=Outcome)
