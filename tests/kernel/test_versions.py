"""Messages of other versions: kept files of earlier ones, additions, and those of a later one.

`tests/golden/v1` holds messages as version 1 writes them. They are never changed: what is in
queues and timers of a cluster that is being updated looks like this.
"""

import json
from pathlib import Path

import pytest

from kernel.builders import completion, token
from onward.errors import MessageError, NewerMessageError
from onward.kernel.envelope import SCHEMA_VERSION, RunNames, run_names_of, version_of
from onward.kernel.messages import (
    decode_completion,
    decode_statuses,
    decode_token,
    encode_again,
    encode_message,
)

GOLDEN = Path(__file__).parents[1] / "golden"
READERS = {
    "token": lambda data: [decode_token(data)],
    "status": decode_statuses,
    "completion": lambda data: [decode_completion(data)],
}
KEPT = sorted(path for path in GOLDEN.glob("v*/*.json") if path.name.partition("-")[0] in READERS)


def reader_of(path):
    return READERS[path.name.partition("-")[0]]


def plain(value):
    """Return JSON data with numbers as they are written."""
    return json.loads(value, parse_float=str)


def fields_of(message):
    """Return what a message says, with bytes decoded."""
    return json.loads(encode_message(message))


def newer(message, **fields):
    """Return a message as a later version would write it."""
    body = {**json.loads(encode_message(message)), "schema_version": SCHEMA_VERSION + 1, **fields}
    return json.dumps(body).encode()


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_message_of_any_version_so_far_keeps_all_it_says(path):
    read = reader_of(path)(path.read_bytes())
    said = plain(path.read_bytes())

    for message, fields in zip(read, said if isinstance(said, list) else [said], strict=True):
        again = plain(encode_message(message))
        assert {**fields, "schema_version": SCHEMA_VERSION}.items() <= again.items()


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_field_that_a_release_does_not_know_is_ignored(path):
    said = json.loads(path.read_bytes())
    for message in said if isinstance(said, list) else [said]:
        message["a_field_of_tomorrow"] = {"any": ["thing"]}

    read = reader_of(path)(json.dumps(said).encode())

    kept = reader_of(path)(path.read_bytes())
    assert list(map(fields_of, kept)) == list(map(fields_of, read))


def test_what_is_sent_again_keeps_the_fields_it_came_with():
    came_as = json.dumps({**json.loads(encode_message(token())), "tomorrow": [1]}).encode()
    later = json.loads(encode_again(token(trouble=2), came_as))

    assert {**json.loads(encode_message(token(trouble=2))), "tomorrow": [1]} == later


def test_what_is_sent_again_is_the_plain_wire_form_when_nothing_is_unknown():
    assert encode_message(token(trouble=1)) == encode_again(
        token(trouble=1), encode_message(token())
    )


@pytest.mark.parametrize("changes", [{}, {"signal": "tomorrow"}, {"accumulated_context": None}])
def test_a_token_of_a_later_version_is_no_poison_even_if_it_cannot_be_read(changes):
    with pytest.raises(NewerMessageError, match="schema_version 2 is of a newer onward"):
        decode_token(newer(token(), **changes))


@pytest.mark.parametrize("changes", [{}, {"status": "tomorrow"}])
def test_news_of_a_later_version_is_told_apart_too(changes):
    status = json.loads((GOLDEN / "v1" / "status-success.json").read_bytes())
    later = {**status, "schema_version": SCHEMA_VERSION + 1, **changes}

    for data in (later, [status, later]):
        with pytest.raises(NewerMessageError):
            decode_statuses(json.dumps(data).encode())
    with pytest.raises(NewerMessageError):
        decode_completion(newer(completion(), **changes))


def test_a_message_of_this_version_that_is_wrong_is_not_taken_for_a_later_one():
    data = json.dumps({**json.loads(encode_message(token())), "signal": "tomorrow"}).encode()

    with pytest.raises(MessageError) as refused:
        decode_token(data)

    assert not isinstance(refused.value, NewerMessageError)


@pytest.mark.parametrize(
    ("data", "version"),
    [
        (b'{"schema_version": 7, "anything": {}}', 7),
        (b'[{"schema_version": 2}, {"schema_version": 3}, 1]', 3),
        (b'{"schema_version": "7"}', 1),
        (b'{"schema_version": null}', 1),
        (b"{}", 1),
        (b"[]", 1),
        (b"", 1),
        (b"nonsense", 1),
        (b"\xff", 1),
        (b"[" * 100_000, 1),
        (b'{"a":' * 100_000, 1),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_the_version_can_be_read_of_anything(data, version):
    assert version == version_of(data)


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b'{"workflow_id": "w", "execution_id": "x", "current_node": 5}', RunNames("w", "x", 0)),
        (b'{"execution_id": "x", "generation": 2}', RunNames("", "x", 2)),
        (b'{"workflow_id": 5, "execution_id": "x"}', RunNames("", "x", 0)),
        (b'{"execution_id": "x"', RunNames("", "", 0)),
        (b"[]", RunNames("", "", 0)),
        (b"\xff\xfe", RunNames("", "", 0)),
        (b'{"execution_id": "\\ud800"}', RunNames("", "", 0)),
    ],
)
def test_the_run_can_be_read_of_a_message_that_is_broken(data, names):
    assert names == run_names_of(data)
