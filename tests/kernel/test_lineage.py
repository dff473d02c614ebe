"""Where a token stands among splits."""

from kernel.builders import item, token
from onward.kernel.lineage import ROOT, describe, item_scope, scope_of


def test_without_a_frame_the_scope_is_the_run():
    assert ROOT == scope_of(())


def test_the_innermost_frame_names_the_scope():
    assert item_scope("inner", 2) == scope_of(item("inner", 2, outside=item("outer", 5)))


def test_two_runs_of_one_split_node_have_scopes_of_their_own():
    """
    RFC 004 keyed by the split's node, so the items of a nested split mixed.
    """
    assert scope_of(item("run-1", 0)) != scope_of(item("run-2", 0))


def test_a_token_knows_its_scope():
    assert item_scope("s", 1) == token(lineage_stack=item("s", 1)).scope


def test_people_read_a_lineage_from_the_outside_in():
    text = describe(item("orders", 2, outside=item("users", 5)))
    assert "node-of-users[5] > node-of-orders[2]" == text
