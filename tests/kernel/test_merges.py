"""Merge barriers: one arrival for each incoming edge, and edges that are known to be dead."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kernel.builders import arrive, coordination, leave, token, try_open
from onward.kernel.effects import (
    Closed,
    DiscardMerge,
    ExpireMerge,
    Late,
    Open,
    Opened,
    Pending,
    Skip,
)

BOTH = Opened({"e1": b"payload of e1", "e2": b"payload of e2"})


def skip(*edges, scope=""):
    return Skip(scope=scope, edges=frozenset(edges))


def forked(siblings, *names):
    """Return a run with tokens alive in its root scope."""
    run = coordination()
    for name in names:
        run.claim(token(name, parent="fork", outcome="ok", siblings=siblings))
    return run


def test_wait_for_all_opens_with_the_last_arrival():
    run = coordination()
    assert [Pending(1), BOTH] == [run.answer(arrive("e1")), run.answer(arrive("e2"))]


def test_an_arrival_that_comes_twice_counts_once():
    run = coordination()
    assert [Pending(1), Pending(1)] == [run.answer(arrive("e1")), run.answer(arrive("e1"))]


def test_two_edges_from_one_parent_are_two_arrivals():
    """
    Arrivals are kept by edge, not by the node they come from.
    """
    run = coordination()
    run.answer(arrive("e1", by="same"))
    assert BOTH == run.answer(arrive("e2", by="same"))


def test_whoever_opened_the_merge_hears_so_however_often_and_nobody_else():
    """
    RFC 005 set a key and then published: a crash in between lost the run.
    """
    run = coordination()
    run.answer(arrive("e1"))
    run.answer(arrive("e2"))
    assert BOTH == run.answer(arrive("e2"))
    assert Pending(2) == run.answer(arrive("e1"))
    assert None is run.answer(try_open("another"))


def test_after_it_is_discarded_an_opened_merge_opens_for_nobody():
    run = coordination()
    run.answer(arrive("e1"))
    run.answer(arrive("e2"))
    run.answer(DiscardMerge(scope="", node="m", expected=("e1", "e2")))
    assert Pending(2) == run.answer(arrive("e2"))


def test_another_token_by_an_edge_that_has_arrived_is_late():
    run = coordination()
    run.answer(arrive("e1"))
    assert Late() == run.answer(replace(arrive("e1"), unit="other"))


def test_merges_of_two_scopes_and_of_two_nodes_do_not_meet():
    """
    RFC 005 keyed by node: a merge inside a split collided across the items.
    """
    run = coordination()
    assert Pending(1) == run.answer(arrive("e1", scope="s/0"))
    assert Pending(1) == run.answer(arrive("e2", scope="s/1"))
    assert Pending(1) == run.answer(arrive("e2", scope="s/0", node="other"))


def test_a_node_whose_name_begins_like_another_is_not_that_other():
    run = coordination()
    run.answer(arrive("e1", node="merge"))
    assert Pending(1) == run.answer(arrive("e2", node="merge2"))
    assert Pending(1) == run.answer(arrive("e1", node="merge"))


# -- any, n --------------------------------------------------------------------------------------


def test_wait_for_any_opens_with_the_first_and_the_others_are_late():
    run = coordination()
    assert Opened({"e2": b"payload of e2"}) == run.answer(arrive("e2", quota=1))
    assert Late() == run.answer(arrive("e1", quota=1))


def test_wait_for_n_opens_with_the_nth():
    run, three = coordination(), ("e1", "e2", "e3")
    assert Pending(1) == run.answer(arrive("e1", three, quota=2))
    assert BOTH == run.answer(arrive("e2", three, quota=2))
    assert Late() == run.answer(arrive("e3", three, quota=2))


# -- dead edges ----------------------------------------------------------------------------------


def test_a_dead_edge_is_not_waited_for():
    """
    RFC 005 waited for every static parent: behind an `if` it hung until its timeout.
    """
    run = coordination()
    run.answer(skip("e2"))
    assert Opened({"e1": b"payload of e1"}) == run.answer(arrive("e1"))


def test_an_edge_that_dies_after_the_others_arrived_opens_the_merge():
    run = coordination()
    assert Pending(1) == run.answer(arrive("e1"))
    assert None is run.answer(try_open("skipper"))
    run.answer(skip("e2"))
    assert Opened({"e1": b"payload of e1"}) == run.answer(try_open("skipper"))


def test_a_quota_that_dead_edges_put_out_of_reach_is_waived():
    run, three = coordination(), ("e1", "e2", "e3")
    run.answer(skip("e2", "e3"))
    assert Opened({"e1": b"payload of e1"}) == run.answer(arrive("e1", three, quota=2))


def test_a_merge_at_which_nothing_arrived_does_not_open():
    run = coordination()
    run.answer(skip("e1", "e2"))
    assert None is run.answer(try_open("skipper"))


def test_dead_edges_of_one_scope_are_alive_in_another():
    run = coordination()
    run.answer(skip("e2", scope="s/0"))
    assert Pending(1) == run.answer(arrive("e1", scope="s/1"))


@given(st.lists(st.frozensets(st.sampled_from("abcdef"), min_size=1), min_size=1, max_size=6))
def test_marking_edges_dead_is_monotone_and_reads_back_everything(markings):
    run, all_dead = coordination(), set()
    for edges in markings:
        all_dead |= edges
        assert all_dead == run.answer(skip(*edges))


# -- counting ------------------------------------------------------------------------------------


def test_all_that_arrived_goes_on_as_one():
    run = forked(2, "by-e1", "by-e2")
    run.answer(arrive("e1"))
    run.answer(arrive("e2"))
    assert Closed({"merged": b""}) == run.answer(leave("merged"))


def test_opening_again_does_not_count_again():
    run = forked(3, "by-e1", "by-e2", "elsewhere")
    run.answer(arrive("e1"))
    run.answer(arrive("e2"))
    run.answer(arrive("e2"))
    assert Open() == run.answer(leave("merged"))
    assert Closed({"merged": b"", "elsewhere": b""}) == run.answer(leave("elsewhere"))


def test_losers_of_wait_for_any_are_alive_until_they_leave():
    run = forked(2, "by-e1", "by-e2")
    run.answer(arrive("e1", quota=1))
    assert Open() == run.answer(leave("merged"))
    assert Late() == run.answer(arrive("e2", quota=1))
    assert Closed({"merged": b"", "by-e2": b""}) == run.answer(leave("by-e2"))


@given(st.permutations(["e1", "e2", "e3", "e4"]), st.sets(st.sampled_from(["e1", "e2", "e3"])))
def test_in_any_order_of_arrivals_and_deaths_exactly_one_message_opens_the_merge(order, dead):
    """
    Each edge arrives or dies, in any order: one message opens, with all that arrived.
    """
    expected, run, opened = ("e1", "e2", "e3", "e4"), coordination(), []
    for edge in order:
        if edge in dead:
            run.answer(skip(edge))
            answer = run.answer(try_open(f"skip-{edge}", expected))
        else:
            answer = run.answer(arrive(edge, expected))
        if isinstance(answer, Opened):
            opened.append(set(answer.arrivals))
    assert [set(expected) - dead] == opened


# -- time-outs -----------------------------------------------------------------------------------


def expire(by="timer"):
    return ExpireMerge(scope="", node="m", by=by, expected=("e1", "e2"))


def test_a_merge_that_waited_too_long_is_closed_with_what_had_arrived():
    run = coordination()
    run.answer(arrive("e1"))
    partial = Opened({"e1": b"payload of e1"})
    assert [partial, partial, None] == [
        run.answer(question) for question in (expire(), expire(), expire("another"))
    ]
    assert Late() == run.answer(arrive("e2"))


def test_a_merge_that_opened_first_does_not_expire():
    run = coordination()
    run.answer(arrive("e1"))
    run.answer(arrive("e2"))
    assert None is run.answer(expire())
    assert BOTH == run.answer(arrive("e2"))


def test_a_merge_at_which_nothing_arrived_does_not_expire():
    run = coordination()
    assert None is run.answer(expire())
    assert Pending(1) == run.answer(arrive("e1"))


def test_what_an_expired_merge_held_goes_on_as_one():
    run = forked(3, "by-e1", "by-e2", "by-e3")
    three = ("e1", "e2", "e3")
    run.answer(arrive("e1", three))
    run.answer(arrive("e2", three))
    run.answer(expire())
    run.answer(leave("by-e3"))
    assert Closed({"by-e3": b"", "expired": b""}) == run.answer(leave("expired"))


def test_discarding_a_merge_that_never_opened_does_nothing():
    run = coordination()
    run.answer(arrive("e1"))
    run.answer(DiscardMerge(scope="", node="m", expected=("e1", "e2")))
    assert BOTH == run.answer(arrive("e2"))
