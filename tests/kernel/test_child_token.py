"""A child token: every field of a token is inherited by it, given to it, or begins anew."""

from msgspec import Raw

from onward.kernel.context import Context, Ref
from onward.kernel.ids import derive
from onward.kernel.lineage import Frame
from onward.kernel.messages import Token

INHERITED = {
    "workflow_id",
    "execution_id",
    "definition_ref",
    "started_at",
    "traceparent",
    "priority",
    "generation",
    "root",
    "schema_version",
}
GIVEN = {
    "current_node": "next",
    "from_node": "here",
    "from_edge": "edge",
    "lineage_stack": (Frame("split", "branch", 1, 2, "s1"),),
    "accumulated_context": {"$here": Raw(b"1")},
    "context_refs": {"$large": Ref("b" * 64, 3)},
    "context_base": Ref("c" * 64, 4),
    "token_id": derive("unit", "edge", "ok"),
    "parent": "unit",
    "outcome": "ok",
    "siblings": 3,
    "sent_at": 99,
}
RESET = {
    "workflow_definition",
    "publish_id",
    "attempt",
    "visit",
    "signal",
    "awaits",
    "items_ref",
    "span",
    "trouble",
}
PARENT = Token(
    workflow_id="w",
    execution_id="x",
    current_node="here",
    accumulated_context={"$old": Raw(b"0")},
    workflow_definition=Raw(b"{}"),
    from_node="before",
    lineage_stack=(Frame("outer", "branch", 0, 5, "s0"),),
    token_id="t",
    publish_id="p",
    parent="q",
    outcome="failed",
    siblings=2,
    from_edge="in",
    definition_ref="d",
    context_refs={"$old": Ref("d" * 64, 1)},
    context_base=Ref("e" * 64, 2),
    attempt=4,
    visit="first",
    started_at=11,
    signal="awaited",
    sent_at=12,
    awaits="name/key",
    items_ref=Ref("f" * 64, 5),
    span=(1, 2, 3),
    trouble=6,
    traceparent="00-1-2-01",
    priority=7,
    generation=8,
    root="x0",
    schema_version=9,
)


def child():
    context = Context(GIVEN["accumulated_context"], GIVEN["context_refs"], GIVEN["context_base"])
    return PARENT.child(
        "next",
        from_node="here",
        edge="edge",
        unit="unit",
        tag="ok",
        siblings=3,
        lineage=GIVEN["lineage_stack"],
        context=context,
        now_ms=99,
    )


def test_every_field_of_a_token_is_classified():
    """
    A new field belongs into one of the three sets above, and into `Token.child` if a child has it
    from its parent. One that is about a single visit must not leak to every successor.
    """
    assert sorted(Token.__struct_fields__) == sorted([*INHERITED, *GIVEN, *RESET])


def test_the_parent_of_this_test_differs_from_a_plain_token_in_every_field():
    plain = Token(workflow_id="", execution_id="", current_node="", accumulated_context={})

    same = [
        name for name in Token.__struct_fields__ if getattr(plain, name) == getattr(PARENT, name)
    ]

    assert [] == same


def test_a_child_inherits_what_belongs_to_the_run():
    assert {name: getattr(PARENT, name) for name in INHERITED} == {
        name: getattr(child(), name) for name in INHERITED
    }


def test_a_child_is_what_its_edge_makes_it():
    assert GIVEN == {name: getattr(child(), name) for name in GIVEN}


def test_what_is_about_one_visit_begins_anew():
    plain = Token(workflow_id="", execution_id="", current_node="", accumulated_context={})

    assert {name: getattr(plain, name) for name in RESET} == {
        name: getattr(child(), name) for name in RESET
    }
