"""Links that nodes hand out: refused at load when for nothing, and never made up by data."""

import msgspec
import pytest
from msgspec import Raw

from onward.bootstrap.catalogue import builtin
from onward.errors import DefinitionError
from onward.kernel.lineage import Frame
from onward.kernel.outcome import Failed
from onward.kernel.program import Activity
from onward.languages.graph.check.document import check
from onward.languages.graph.document import parse_definition
from onward.languages.graph.program import compile_graph

DECIDE = {"decide": {"approval": "ask", "approver": "ada"}}


def document(links, text="{{ $execution.links.decide }}", kind="http", asks="approval"):
    """A node with links before an approval that is outside of splits, and one inside of one."""
    parameters = {"url": "http://localhost/", "method": "POST", "body": {"text": text}}
    return {
        "id": "flow",
        "nodes": [
            {"id": "start", "type": "manual_trigger"},
            {
                "id": "tell",
                "type": kind,
                "links": links,
                "parameters": parameters if kind == "http" else {"message": text},
            },
            {
                "id": "ask",
                "type": asks,
                "parameters": {"approvers": ["ada"]} if asks == "approval" else {},
            },
            {"id": "each", "type": "split", "parameters": {"input_array": [1, 2]}},
            {"id": "inner", "type": "approval", "parameters": {"approvers": ["ada"]}},
            {"id": "all", "type": "aggregator"},
        ],
        "edges": [
            {"src": "start", "dst": "tell"},
            {"src": "tell", "dst": "ask"},
            {"src": "ask", "dst": "each"},
            {"src": "each", "dst": "inner"},
            {"src": "inner", "dst": "all"},
        ],
    }


def wrong(*given, **more):
    found = check(parse_definition(document(*given, **more)), builtin)
    return [(one.code, one.pointer) for one in found if one.severity == "error"]


def test_a_link_to_an_approval_that_follows_is_fine():
    assert [] == wrong(DECIDE)
    assert [] == wrong({"back": {"signal": "paid", "key": "$trigger.order", "lasts": 60}})


@pytest.mark.parametrize(
    ("link", "code", "at"),
    [
        ({"approval": "ask"}, "BAD_LINK", ""),
        ({"approver": "ada"}, "BAD_LINK", ""),
        ({"approval": "ask", "approver": "ada", "signal": "paid"}, "BAD_LINK", ""),
        ({"approval": "ask", "approver": "ada", "key": "k"}, "BAD_LINK", ""),
        ({"signal": "paid", "approver": "ada"}, "BAD_LINK", ""),
        ({}, "BAD_LINK", ""),
        ({"signal": "paid", "lasts": 1e9}, "BAD_LINK", "/lasts"),
        ({"approval": "asks", "approver": "ada"}, "UNKNOWN_NODE", "/approval"),
        ({"approval": "start", "approver": "ada"}, "UNKNOWN_NODE", "/approval"),
        ({"approval": "inner", "approver": "ada"}, "LINK_SCOPE", "/approval"),
        ({"approval": "ask", "approver": "{{ . | }}"}, "EXPRESSION_SYNTAX", "/approver"),
        ({"approval": "ask", "approver": "$nobody.mail"}, "UNKNOWN_NODE", "/approver"),
    ],
)
def test_a_link_that_is_for_nothing_is_refused(link, code, at):
    assert (code, f"/nodes/1/links/l{at}") in wrong({"l": link})


def test_only_a_node_that_sends_something_can_have_links():
    assert [("USELESS_LINKS", "/nodes/1/links")] == wrong(DECIDE, kind="log")


@pytest.mark.parametrize("links", [{"a b": {"signal": "s"}}, {"l": {"sginal": "s"}}, {"l": 5}, 5])
def test_links_of_another_shape_are_refused_with_their_place(links):
    with pytest.raises(DefinitionError, match=r"link|a b|sginal|mapping"):
        wrong(links)


def visited(links, text, given=None, lineage=()):
    """Return what the node with links comes to, on some data."""
    read = parse_definition(document(links, text))
    program = compile_graph(read, builtin)
    (token,), _ = program.start("run", Raw(b"null"), now_ms=0)
    token = msgspec.structs.replace(token, current_node="tell", lineage_stack=lineage)
    return program.step(token, {"trigger": given})


def test_a_visit_asks_for_its_links_and_has_marks_where_they_belong():
    text = "Decide: {{ $execution.links.decide }}."
    frames = (Frame("users", "b", 5, 9, "s"),)
    one, again = visited(DECIDE, text), visited(DECIDE, text)
    inside = visited({"l": {"signal": "paid"}}, "x", lineage=frames)

    assert isinstance(one, Activity)
    (link,) = one.links
    assert one == again
    assert f"Decide: {link.mark}." == one.node.body["text"]
    assert ("approval", "approval:ask", "ada") == (link.purpose, link.address, link.person)
    assert ("callback", "paid/users[5]") == (inside.links[0].purpose, inside.links[0].address)


def test_a_mark_in_the_data_is_not_taken_for_one_of_ours():
    mark = visited(DECIDE, "x").links[0].mark

    forged = visited(DECIDE, "{{ $trigger.comment }}", {"comment": f"Hello {mark}"})
    beside = visited(DECIDE, "{{ $execution.links.decide }} $trigger.comment", {"comment": mark})
    harmless = visited(DECIDE, "{{ $trigger.comment }}", {"comment": "onward-link-0123"})

    assert isinstance(forged, Failed)
    assert isinstance(beside, Failed)
    assert "LINK_FORGED" == forged.error.code
    assert isinstance(harmless, Activity)


@pytest.mark.parametrize("approver", ["{{ null }}", "{{ [1] }}", "{{ true }}", '{{ "" }}'])
def test_an_approver_who_is_nobody_fails_the_node_with_the_place(approver):
    failed = visited({"l": {"approval": "ask", "approver": approver}}, "x")

    assert ("BAD_LINK", "/links/l/approver") == (
        failed.error.code,
        failed.error.details["parameter"],
    )
