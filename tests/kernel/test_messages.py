"""Messages from strangers: what is understood, what is refused, and in which words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from kernel.builders import START, completion, item, token
from onward.errors import MessageError
from onward.kernel.context import Ref
from onward.kernel.json import MAX_DEPTH, decode
from onward.kernel.lineage import describe
from onward.kernel.messages import (
    MAX_BYTES,
    MAX_LINEAGE,
    NodeExecutionMessage,
    NodeStatusMessage,
    decode_token,
    encode_message,
)

PLAIN = {
    "workflow_id": "wf_email_notification",
    "execution_id": "exec_20251009_123456",
    "current_node": "http_fetch_user",
    "workflow_definition": {"nodes": [], "edges": []},
    "accumulated_context": {"$trigger": {"user_id": "user_123"}},
}


def wire(**fields):
    return json.dumps({**PLAIN, **fields}).encode()


def refusal(data):
    with pytest.raises(MessageError) as caught:
        decode_token(data)
    return str(caught.value)


# -- what is understood --------------------------------------------------------------------------


def test_a_plain_message_of_rfc_001_is_a_token():
    plain = decode_token(wire())
    assert {"user_id": "user_123"} == decode(plain.accumulated_context["$trigger"])
    assert {"nodes": [], "edges": []} == decode(plain.workflow_definition)
    assert ("", 1, 1, ()) == (plain.scope, plain.siblings, plain.attempt, plain.lineage_stack)


def test_a_plain_message_gets_the_same_identity_however_often_it_comes():
    first, second = decode_token(wire()), decode_token(wire(accumulated_context={}))
    assert first.token_id
    assert (first.token_id, first.parent, first.outcome) == (
        second.token_id,
        second.parent,
        second.outcome,
    )


@pytest.mark.parametrize(
    "other",
    [
        {"execution_id": "another"},
        {"current_node": "another"},
        {"from_node": "another"},
        {
            "lineage_stack": [
                {
                    "split_node_id": "s",
                    "branch_id": "b",
                    "item_index": 1,
                    "total_items": 2,
                    "split_token": "t",
                }
            ]
        },
    ],
    ids=lambda other: next(iter(other)),
)
def test_plain_messages_that_stand_elsewhere_have_another_identity(other):
    assert decode_token(wire()).token_id != decode_token(wire(**other)).token_id


def test_unknown_fields_are_ignored():
    known = decode_token(wire())
    assert known.token_id == decode_token(wire(colour="blue", nested={"a": [1]})).token_id


def test_the_definition_may_be_left_out_when_it_is_named():
    del (fields := dict(PLAIN))["workflow_definition"]
    one = decode_token(json.dumps({**fields, "definition_ref": "abc"}).encode())
    assert "abc" == one.definition_ref


def test_integers_beyond_two_to_the_53_keep_every_digit():
    data = wire(accumulated_context={"$a": 2**53 + 1})
    assert b"9007199254740993" in encode_message(decode_token(data))


def test_context_entries_stay_the_bytes_they_were():
    data = b'{"workflow_id":"w","execution_id":"x","current_node":"n","accumulated_context":'
    entry = b'{ "b" : 1.0e2,  "a":"\\u00e9" }'
    assert entry == bytes(decode_token(data + b'{"$a":' + entry + b"}}").accumulated_context["$a"])


def test_a_token_of_ours_keeps_its_identity():
    sent = token("mine", parent="p", outcome="ok", siblings=3, lineage_stack=item("s", 1))
    assert sent == decode_token(encode_message(sent))


@given(
    st.builds(
        token,
        name=st.text("abc", min_size=1),
        siblings=st.integers(1, 9),
        attempt=st.integers(1, 9),
        from_edge=st.text(),
        context_refs=st.dictionaries(st.text(), st.builds(Ref, st.text(), st.integers(0))),
        context_base=st.none() | st.builds(Ref, st.text(), st.integers(0)),
        signal=st.sampled_from(["", "resume", "timeout", "page"]),
        span=st.tuples(*[st.integers(0, 2**40)] * 3),
        lineage_stack=st.lists(st.integers(0, 5), max_size=3).map(
            lambda indexes: tuple(item("s", index)[0] for index in indexes)
        ),
    )
)
def test_every_token_survives_the_wire(sent):
    assert sent == decode_token(encode_message(sent))


def test_fields_at_their_default_are_not_sent():
    sent = NodeExecutionMessage(
        workflow_id="w", execution_id="x", current_node="n", accumulated_context={}
    )
    required = {"workflow_id", "execution_id", "current_node", "accumulated_context"}
    assert required | {"schema_version"} == set(decode(encode_message(sent)))


def test_a_status_always_says_output_and_error_as_rfc_001_wants():
    sent = NodeStatusMessage(
        workflow_id="w",
        execution_id="x",
        node_id="n",
        status="running",
        executed_at="2026-01-01T00:00:00.000Z",
        duration_ms=0,
    )
    body = decode(encode_message(sent))
    assert {"output": None, "error": None} == {name: body[name] for name in ("output", "error")}


def test_a_completion_has_every_field_of_rfc_001():
    assert {
        "workflow_id",
        "execution_id",
        "status",
        "final_context",
        "completed_at",
        "total_duration_ms",
        "schema_version",
    } == set(decode(encode_message(completion())))


def test_the_branch_name_is_that_of_rfc_004():
    assert "x1_node-of-s_2" == item("s", 2)[0].branch_id
    assert "node-of-s[2]" == describe(item("s", 2))


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not json",
        b"null",
        b"[]",
        b'"text"',
        wire()[:-1],
        wire()[: len(wire()) // 2],
        wire() + b"}",
        b"\xff" + wire(),
        wire().replace(b"wf_email", b"wf\xff"),
        wire(accumulated_context={"$a": float("nan")}),
        wire(accumulated_context={"$a": float("inf")}),
        wire(accumulated_context={"$a": "\ud800"}),
        wire(current_node="\udc00"),
    ],
    ids=lambda data: repr(data[:12]) + str(len(data)),
)
def test_what_is_not_a_message_is_refused(data):
    assert refusal(data).startswith("not a NodeExecutionMessage: ")


@pytest.mark.parametrize("name", sorted(set(PLAIN) - {"workflow_definition"}))
def test_a_required_field_that_is_missing_is_named(name):
    fields = {key: value for key, value in PLAIN.items() if key != name}
    assert f"`{name}`" in refusal(json.dumps(fields).encode())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("workflow_id", 7),
        ("execution_id", None),
        ("current_node", ["a"]),
        ("accumulated_context", []),
        ("accumulated_context", "text"),
        ("lineage_stack", {}),
        ("lineage_stack", [{"split_node_id": "s"}]),
        ("siblings", "two"),
        ("siblings", 1.5),
        ("attempt", None),
        ("signal", "explode"),
        ("span", [1, 2]),
        ("context_refs", {"$a": "hash"}),
        ("context_base", 3),
    ],
)
def test_a_field_of_the_wrong_type_is_named(name, value):
    assert f"$.{name}" in refusal(wire(**{name: value}))


@pytest.mark.parametrize("value", ["", "a b", "a/b", "ä", "a\n", "$x", "x" * 129, "../etc"])
@pytest.mark.parametrize("name", ["workflow_id", "execution_id", "current_node"])
def test_an_identifier_is_letters_digits_underscores_and_dashes(name, value):
    reason = refusal(wire(**{name: value}))
    assert reason.startswith(f"{name} ")
    assert "must match ^[a-zA-Z0-9_-]+$" in reason
    assert len(reason) < 250


def test_context_keys_begin_with_a_dollar():
    assert "accumulated_context key 'a' must start with '$'" == refusal(
        wire(accumulated_context={"a": 1})
    )


@pytest.mark.parametrize(
    "fields", [{"siblings": 0}, {"siblings": -3}, {"attempt": 0}, {"span": [0, -1, 0]}], ids=str
)
def test_numbers_that_make_no_sense_are_refused(fields):
    assert "must be at least 1, span not negative" in refusal(wire(**fields))


@pytest.mark.parametrize("name", ["sent_at", "started_at"])
def test_a_moment_that_no_calendar_has_is_refused(name):
    assert name in refusal(wire(**{name: 10**20}))


def test_an_item_of_a_producer_that_knows_only_rfc_004_is_refused_rather_than_lost():
    frame = {"split_node_id": "s", "branch_id": "x_s_0", "item_index": 0, "total_items": 2}
    assert "split_token" in refusal(wire(lineage_stack=[frame]))


def test_a_message_over_the_size_limit_is_refused_unread():
    assert f"exceeds the limit of {MAX_BYTES} bytes" in refusal(b"x" * (MAX_BYTES + 1))


def test_a_message_over_the_size_limit_is_not_sent_either():
    large = token(accumulated_context={"$a": Raw(b'"' + b"x" * MAX_BYTES + b'"')})
    with pytest.raises(MessageError, match=r"of x1 exceeds 10485760 bytes"):
        encode_message(large)


@pytest.mark.parametrize("levels", [MAX_DEPTH, 100_000])
def test_a_message_nested_too_deeply_is_refused_before_any_reader_recurses(levels):
    deep = b"[" * levels + b"]" * levels
    data = wire().replace(b'{"user_id": "user_123"}', deep)
    assert f"message is nested deeper than {MAX_DEPTH} levels" == refusal(data)


def test_a_message_just_deep_enough_is_read():
    deep = b"[" * (MAX_DEPTH - 2) + b"]" * (MAX_DEPTH - 2)
    one = decode_token(wire().replace(b'{"user_id": "user_123"}', deep))
    assert deep == bytes(one.accumulated_context["$trigger"])


@pytest.mark.parametrize(("depth", "fine"), [(MAX_LINEAGE, True), (MAX_LINEAGE + 1, False)])
def test_splits_nest_only_so_deep(depth, fine):
    data = encode_message(token(lineage_stack=item("s", 0) * depth))
    if fine:
        assert depth == len(decode_token(data).lineage_stack)
    else:
        assert f"lineage_stack is deeper than {MAX_LINEAGE} splits" == refusal(data)


def test_bytes_that_are_no_text_inside_an_entry_are_found_when_it_is_read():
    """
    Decoding is lazy, so the message is a token; the entry is refused, clearly, by its reader.
    """
    one = decode_token(wire().replace(b"user_123", b"user_\xff"))
    with pytest.raises(MessageError, match=r"^not JSON: "):
        decode(one.accumulated_context["$trigger"])


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(data):
    with pytest.raises(MessageError):
        decode_token(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(START.__struct_fields__), JSON))
def test_whatever_the_fields_hold_the_answer_is_a_token_or_a_refusal(fields):
    try:
        one = decode_token(wire(**fields))
    except MessageError as refused:
        assert str(refused)
    else:
        assert one.token_id
