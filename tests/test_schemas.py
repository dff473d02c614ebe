"""The published schemas: as committed, and true of what the engine really says."""

import json
import os
import re
from pathlib import Path

import jsonschema_rs
import pytest
from msgspec import Raw

from kernel.builders import item, token
from onward.adapters.sqlite.journal import SqliteJournal
from onward.errors import MessageError
from onward.kernel.context import Ref
from onward.kernel.messages import (
    NodeExecutionMessage,
    decode_token,
    encode_message,
    message_schemas,
)
from support.documents import TRIGGER, node, transform, workflow
from support.harness import Lab

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
PAGE = (REFERENCE / "messages.md").read_text()
SCHEMAS = message_schemas()
EXAMPLES = re.findall(r"^```json (\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def faults(name, message):
    """Return what the published schema has against a message."""
    data = message if isinstance(message, bytes) else encode_message(message)
    validator = jsonschema_rs.validator_for(SCHEMAS[name], validate_formats=True)
    return [fault.message for fault in validator.iter_errors(json.loads(data))]


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_committed_schema_is_the_one_the_code_says(name):
    path = REFERENCE / "schemas" / f"{name}.json"
    text = json.dumps(SCHEMAS[name], indent=2, sort_keys=True) + "\n"
    if os.environ.get("ONWARD_UPDATE"):
        path.write_text(text)
    assert path.exists() and text == path.read_text(), (
        f"{path.name} is not what the code says: ONWARD_UPDATE=1 ./onward check "
        "tests/test_schemas.py"
    )


def test_no_schema_is_committed_that_the_code_does_not_know():
    assert set(SCHEMAS) == {path.stem for path in (REFERENCE / "schemas").iterdir()}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_valid_titled_and_belongs_to_no_host(name):
    schema = SCHEMAS[name]
    assert jsonschema_rs.meta.is_valid(schema)
    assert (name, f"urn:onward:{name}") == (schema["title"], schema["$id"])


# -- what the engine says ------------------------------------------------------------------------


class ListeningJournal(SqliteJournal):
    """A journal that remembers every token it was given."""

    heard: list[NodeExecutionMessage]

    def commit(self, batch):
        self.heard.extend(batch.sent.values())
        self.heard.extend(token for _, token in batch.timers.values())
        super().commit(batch)


EVERYTHING = workflow(
    TRIGGER,
    transform("items", '[1, 2, ("x" * 40000)]'),
    node("each", "split", input_array="$items", max_concurrency=1),
    node("odd", "fail", message="no", code="NO", retry={"max_attempts": 2}),
    node("all", "aggregator"),
    node("pause", "wait", resume="time_interval", amount=1, unit="hours"),
    node("meet", "merge", mode="append", wait_mode="wait_for_all", timeout=7200),
    "start -> items -> each -> odd -> all -> pause -> meet",
    "start -> meet",
)


@pytest.fixture
async def said(tmp_path):
    """Return every message of a run that does everything, by the name of its schema."""
    lab = Lab(tmp_path)
    ListeningJournal.heard = []
    lab.open_journal = ListeningJournal
    ended = await lab.run(EVERYTHING)
    says = node("say", "log", message="now")
    fails = node("f", "fail", message="no")
    halted = await lab.run(workflow(TRIGGER, says, fails, "start -> say -> f"))
    return [*ListeningJournal.heard, *ended.news, *halted.news]


async def test_whatever_a_run_says_is_valid(said):
    complaints = [
        (type(one).__name__, fault) for one in said for fault in faults(type(one).__name__, one)
    ]
    assert [] == complaints
    assert set(SCHEMAS) == {type(one).__name__ for one in said}


async def test_the_run_that_was_looked_at_reports_everything_there_is_to_report(said):
    """
    A field that no message of the run carries would be published without ever being looked at.
    """
    for name in ("NodeStatusMessage", "CompletionMessage"):
        bodies = [json.loads(encode_message(one)) for one in said if type(one).__name__ == name]
        assert set(SCHEMAS[name]["properties"]) == {field for body in bodies for field in body}


def test_a_token_with_every_field_there_is_is_valid():
    """
    An engine on one machine hands most tokens on in memory, so here is one that is written out.
    """
    ref = Ref("h", 1)
    full = token(
        workflow_definition=Raw(b'{"nodes": []}'),
        from_node="before",
        lineage_stack=item("s", 0),
        siblings=2,
        from_edge="e",
        definition_ref="d",
        context_refs={"$a": ref},
        context_base=ref,
        attempt=2,
        started_at=1,
        signal="page",
        sent_at=2,
        items_ref=ref,
        visit="first",
        trouble=1,
        span=(1, 2, 3),
        traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        priority=1,
        generation=1,
        root="the_first",
        awaits="paid/7",
    )
    assert set(SCHEMAS["NodeExecutionMessage"]["properties"]) == set(
        json.loads(encode_message(full))
    )
    assert [] == faults("NodeExecutionMessage", full)


# -- what strangers say --------------------------------------------------------------------------


PLAIN = {
    "workflow_id": "w",
    "execution_id": "x",
    "current_node": "n",
    "accumulated_context": {},
}
FRAME = {"split_node_id": "s", "branch_id": "b", "item_index": 0, "total_items": 1}


def test_a_plain_message_of_rfc_001_is_valid():
    assert [] == faults("NodeExecutionMessage", json.dumps(PLAIN).encode())
    assert "n" == decode_token(json.dumps(PLAIN).encode()).current_node


@pytest.mark.parametrize(
    "fields",
    [
        {"workflow_id": "a b"},
        {"execution_id": ""},
        {"current_node": "x" * 129},
        {"current_node": 7},
        {"accumulated_context": {"no_dollar": 1}},
        {"accumulated_context": []},
        {"siblings": 0},
        {"attempt": 0},
        {"span": [0, -1, 0]},
        {"span": [0, 0]},
        {"signal": "explode"},
        {"lineage_stack": [{}]},
        {"lineage_stack": [FRAME] * 65},
        {"context_refs": {"$a": 1}},
    ],
    ids=lambda fields: str(fields)[:40],
)
def test_what_the_engine_refuses_the_schema_refuses_too(fields):
    data = json.dumps({**PLAIN, **fields}).encode()
    assert [] != faults("NodeExecutionMessage", data)
    with pytest.raises(MessageError):
        decode_token(data)


# -- what the page says --------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_every_example_of_the_page_is_valid(name, example):
    assert [] == faults(name, example.encode())


def test_the_page_has_an_example_of_every_message():
    assert set(SCHEMAS) == {name for name, _ in EXAMPLES}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_page_lists_the_fields_that_there_are(name):
    _, _, rest = PAGE.partition(f"\n## {name}\n")
    table = rest.partition("\n## ")[0].partition("\n| field | from | meaning |\n")[2]
    assert set(SCHEMAS[name]["properties"]) == set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE))
