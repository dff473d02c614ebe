"""The accumulated context: small entries travel, large ones are stored once."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from onward.kernel.context import (
    CARRY_LIMIT,
    FREEZE_LIMIT,
    INLINE_LIMIT,
    Context,
    Ref,
    payload_of,
    read_context,
)

SMALL, LARGE = Raw(b"1"), Raw(b'"' + b"x" * INLINE_LIMIT + b'"')
NAMES = st.sampled_from(["$a", "$b", "$c"])
REFS = st.builds(Ref, st.sampled_from(["h1", "h2"]), st.just(40_000))


@st.composite
def contexts(draw):
    inline = draw(st.dictionaries(NAMES, st.sampled_from([b"1", b"2"]).map(Raw)))
    refs = draw(st.dictionaries(NAMES, REFS))
    return Context({k: v for k, v in inline.items() if k not in refs}, refs)


def where(context, name):
    """Return what a reader finds under `name`, as something that compares."""
    if name in context.inline:
        return bytes(context.inline[name])
    return context.refs.get(name)


def test_a_small_entry_is_carried_inline_and_nothing_is_stored():
    context, payload = Context().add("$a", SMALL)
    assert None is payload
    assert b"1" == where(context, "$a")


def test_an_entry_of_exactly_the_limit_is_still_inline():
    assert None is Context().add("$a", Raw(b"x" * INLINE_LIMIT))[1]


def test_a_large_entry_is_stored_by_content_and_referred_to():
    context, payload = Context().add("$a", LARGE)
    assert payload is not None
    assert payload.ref == payload_of(LARGE).ref == where(context, "$a")
    assert len(LARGE) == payload.ref.bytes
    assert {} == context.inline


@pytest.mark.parametrize(("first", "second"), [(SMALL, LARGE), (LARGE, SMALL)])
def test_a_later_entry_of_the_same_name_replaces_the_earlier_whatever_their_sizes(first, second):
    context = Context().add("$a", first)[0].add("$a", second)[0]
    assert where(Context().add("$a", second)[0], "$a") == where(context, "$a")
    assert {"$a"} == context.names()
    assert 1 == len(context.inline) + len(context.refs)


def test_adding_leaves_the_context_it_was_asked_of_as_it_was():
    before = Context().add("$a", SMALL)[0]
    before.add("$b", SMALL)
    before.add("$a", LARGE)
    assert {"$a"} == set(before.inline)
    assert {} == before.refs


def test_a_small_context_is_not_frozen():
    context = Context({"$a": Raw(b"x" * FREEZE_LIMIT)})
    assert (context, None) == context.freeze()


def test_a_frozen_context_is_one_reference_from_which_the_whole_returns():
    context = Context({"$a": Raw(b"1" * (FREEZE_LIMIT + 1))}, {"$b": Ref("h", 9)}, Ref("base", 5))
    frozen, payload = context.freeze()
    assert payload is not None
    assert Context(base=payload.ref) == frozen
    back = read_context(bytes(payload.body))
    assert bytes(context.inline["$a"]) == bytes(back.inline["$a"])
    assert (context.refs, context.base) == (back.refs, back.base)


def test_freezing_the_same_context_twice_stores_it_once():
    context = Context({"$a": Raw(b"1" * (FREEZE_LIMIT + 1))})
    assert context.freeze()[0] == context.freeze()[0]


def test_many_references_alone_are_worth_freezing():
    context = Context(refs={f"${n}": Ref("h", 1) for n in range(6)})
    assert None is not context.freeze()[1]


@pytest.mark.parametrize(("size", "kept"), [(CARRY_LIMIT, True), (CARRY_LIMIT + 1, False)])
def test_a_context_too_large_for_a_message_is_stored_whole(size, kept):
    context = Context({"$a": Raw(b"1" * size)})
    assert kept == (context.compact()[1] is None)


@given(contexts(), contexts())
def test_in_a_union_the_other_context_wins_and_nothing_is_lost(one, other):
    both = one.union(other)
    for name in one.names() | other.names():
        expected = where(other, name) if name in other.names() else where(one, name)
        assert expected == where(both, name)
    assert not set(both.inline) & set(both.refs)


def test_a_union_keeps_the_base_of_whichever_has_one():
    base = Ref("shared", 9)
    assert base == Context(base=base).union(Context()).base
    assert base == Context().union(Context(base=base)).base


@given(contexts())
def test_a_context_is_read_back_as_it_was_written(context):
    back = read_context(msgspec.json.encode(context))
    assert context.names() == back.names()
    assert all(where(context, name) == where(back, name) for name in context.names())
