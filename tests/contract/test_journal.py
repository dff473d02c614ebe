"""What every journal promises: a batch is true together or not at all, and a restart finds it."""

import msgspec
import pytest
from msgspec import Raw

from kernel.builders import completion, token
from onward.adapters.sqlite.journal import SqliteJournal
from onward.errors import MessageError, StorageError
from onward.kernel.context import Ref, payload_of
from onward.kernel.messages import encode_message, item_frame, read_token
from onward.kernel.records import Definition, QuarantineRecord, RunRecord, VisitRecord
from onward.ports.storage.journal import CellChanges, JournalCommit

DEFINITION = Definition("ref", "wf", b"{}")


def execution(name="x1", status="running", **fields):
    return RunRecord(
        execution_id=name,
        workflow_id="wf",
        definition_ref="ref",
        status=status,
        started_ms=fields.pop("started_ms", 5),
        **fields,
    )


def node_run(name="x1", visit="t", **fields):
    given = {
        "execution_id": name,
        "token_id": visit,
        "node_id": "a",
        "status": "success",
        "attempt": 1,
        "at_ms": 7,
        "duration_ms": 2,
        "lineage": (),
        "output": Raw(b"1"),
        "output_ref": None,
        "error": None,
    }
    return VisitRecord(**{**given, **fields})


def begun(*names):
    """Return the batch that begins runs."""
    return JournalCommit(definitions=[DEFINITION], started=[execution(name) for name in names])


def cells(**groups):
    return CellChanges(cells=dict(groups))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "onward.db"


def reopened(journal, path):
    journal.close()
    return SqliteJournal(path)


def test_everything_in_a_batch_is_found_after_a_restart(path):
    journal = SqliteJournal(path)
    payload = payload_of(Raw(b'"large"'))
    lineage = (item_frame("x1", "s", "each", 1, 3),)
    runs = [
        node_run(),
        node_run(visit="u", lineage=lineage, output=None, output_ref=Ref("h", 9), error=b"{}"),
    ]
    changes = cells(**{"": {("live", ""): 3}, "s/0": {("left", "t"): b"v"}})
    quarantined = QuarantineRecord(execution_id="x1", reason="because", body=b"\xff", at_ms=3)
    journal.commit(
        JournalCommit(
            definitions=[DEFINITION],
            started=[execution()],
            sent={4: token("a"), 9: token("b")},
            timers={"later": (77, token("later"))},
            cells={"x1": changes},
            payloads=[("x1", payload)],
            node_runs=runs,
            quarantined=[quarantined],
        )
    )

    journal = reopened(journal, path)

    assert DEFINITION == journal.definition("ref")
    assert execution() == journal.execution("x1")
    assert [execution()] == journal.unfinished()
    assert [(4, token("a")), (9, token("b"))] == [
        (seq, read_token(body)) for seq, body in journal.messages("x1")
    ]
    assert [(77, "later")] == journal.timers("x1")
    assert token("later") == read_token(journal.timer("x1", "later"))
    assert [("", "live", "", 3), ("s/0", "left", "t", b"v")] == sorted(journal.cells("x1"))
    assert b'"large"' == journal.payload("x1", payload.ref)
    assert runs == list(journal.node_runs("x1"))
    assert [quarantined] == journal.quarantine()
    journal.close()


@pytest.mark.parametrize(
    "poison",
    [
        {"started": [execution()]},
        {"consumed": [1, 1]},
        {"sent": {1: token("again")}},
        {"sent": {50: token("huge", accumulated_context={"$x": Raw(b"1" * 11_000_000)})}},
        {"started": [msgspec.structs.replace(execution("orphan"), definition_ref="nowhere")]},
    ],
    ids=["run twice", "consumed twice", "message twice", "message too large", "no definition"],
)
def test_a_batch_that_is_refused_leaves_no_trace(journal, poison):
    journal.commit(
        JournalCommit(definitions=[DEFINITION], started=[execution()], sent={1: token("a")},
              node_runs=[node_run()])
    )  # fmt: skip
    before = everything(journal)
    batch = JournalCommit(
        definitions=[Definition("other", "wf", b"[]")],
        consumed=[1] if "sent" not in poison else [],
        timers={"t": (1, token("t"))},
        cells={"x1": cells(**{"": {("live", ""): 1}})},
        payloads=[("x1", payload_of(Raw(b"5")))],
        quarantined=[QuarantineRecord(execution_id="x1", reason="r", body=b"", at_ms=1)],
    )
    for name, value in poison.items():
        setattr(batch, name, value)

    with pytest.raises((StorageError, MessageError)):
        journal.commit(batch)

    assert before == everything(journal)
    journal.commit(begun("x2"))
    assert execution("x2") == journal.execution("x2")


def everything(journal):
    return (
        journal.definition("other"),
        journal.unfinished(),
        list(journal.messages("x1")),
        journal.timers("x1"),
        list(journal.cells("x1")),
        list(journal.node_runs("x1")),
        journal.quarantine(),
    )


def test_the_first_setting_of_a_timer_stands(journal):
    journal.commit(begun("x1"))
    journal.commit(JournalCommit(timers={"t": (100, token("t"))}))
    journal.commit(JournalCommit(timers={"t": (999, token("t", attempt=2))}))

    assert [(100, "t")] == journal.timers("x1")
    assert 1 == read_token(journal.timer("x1", "t")).attempt


def test_a_cancelled_timer_is_gone_and_only_that_of_its_own_run(journal):
    journal.commit(begun("x1", "x2"))
    journal.commit(JournalCommit(timers={"t": (1, token("t"))}))
    journal.commit(JournalCommit(timers={"t": (1, token("t", execution_id="x2"))}))
    journal.commit(JournalCommit(cancelled=[("x1", "t")]))

    assert (None, [(1, "t")]) == (journal.timer("x1", "t"), journal.timers("x2"))


def test_a_terminal_status_is_final(journal):
    journal.commit(begun("x1"))
    ending = encode_message(completion())
    journal.commit(
        JournalCommit(ended=[execution(status="completed", ended_ms=8, completion=ending)])
    )
    journal.commit(JournalCommit(ended=[execution(status="failed", ended_ms=9, completion=b"{}")]))

    assert execution(status="completed", ended_ms=8, completion=ending) == journal.execution("x1")
    assert [] == journal.unfinished()


def test_a_run_that_ended_leaves_its_history_and_payloads_and_nothing_live(journal):
    payload = payload_of(Raw(b"5"))
    journal.commit(begun("x1", "x2"))
    for name in ("x1", "x2"):
        offset = 0 if name == "x1" else 10
        journal.commit(
            JournalCommit(
                sent={1 + offset: token("a", execution_id=name)},
                timers={"t": (1, token("t", execution_id=name))},
                cells={name: cells(**{"": {("live", ""): 1}})},
                payloads=[(name, payload)],
                node_runs=[node_run(name)],
            )
        )
    ended = execution(status="halted", ended_ms=8, completion=b"{}")
    journal.commit(
        JournalCommit(ended=[ended], sent={2: token("b")}, timers={"u": (1, token("u"))})
    )

    assert ([], [], []) == (
        list(journal.messages("x1")), journal.timers("x1"), list(journal.cells("x1")),
    )  # fmt: skip
    assert 1 == len(list(journal.node_runs("x1")))
    assert b"5" == journal.payload("x1", payload.ref)
    assert 1 == len(list(journal.messages("x2")))


def test_messages_come_in_the_order_they_were_sent_and_consumed_ones_are_gone(journal):
    journal.commit(begun("x1"))
    journal.commit(JournalCommit(sent={3: token("c"), 1: token("a"), 2: token("b")}))
    journal.commit(JournalCommit(consumed=[2]))

    assert [1, 3] == [seq for seq, _ in journal.messages("x1")]


def test_the_last_message_number_of_an_empty_journal_is_zero(journal):
    assert 0 == journal.last_message()


def test_a_dropped_group_is_gone_before_new_cells_of_it_are_set(journal):
    journal.commit(begun("x1"))
    journal.commit(
        JournalCommit(cells={"x1": cells(g={("a", "1"): 1, ("a", "2"): 2}, h={("a", ""): 3})})
    )
    journal.commit(
        JournalCommit(
            cells={"x1": CellChanges(dropped={"g"}, cells={"g": {("b", "1"): [4, b"x", None]}})}
        )
    )

    assert [("g", "b", "1", [4, b"x", None]), ("h", "a", "", 3)] == sorted(journal.cells("x1"))


def test_unfinished_runs_come_oldest_first(journal):
    journal.commit(
        JournalCommit(
            definitions=[DEFINITION],
            started=[execution("b", started_ms=2), execution("a", started_ms=3),
                     execution("c", started_ms=1)],
        )
    )  # fmt: skip

    assert ["c", "b", "a"] == [run.execution_id for run in journal.unfinished()]


def test_a_payload_is_kept_once_and_belongs_to_its_run(journal):
    payload = payload_of(Raw(b'"v"'))
    journal.commit(begun("x1", "x2"))
    journal.commit(JournalCommit(payloads=[("x1", payload), ("x1", payload)]))

    assert b'"v"' == journal.payload("x1", payload.ref)
    with pytest.raises(StorageError, match=payload.ref.hash):
        journal.payload("x2", payload.ref)


def test_large_payloads_come_back_whole(path):
    journal = SqliteJournal(path)
    payload = payload_of(Raw(b'"' + b"x" * 30_000_000 + b'"'))
    journal.commit(begun("x1"))
    journal.commit(JournalCommit(payloads=[("x1", payload)]))

    journal = reopened(journal, path)

    assert bytes(payload.body) == journal.payload("x1", payload.ref)
    journal.close()


def test_what_is_not_there_is_none_and_not_an_error(journal):
    assert (None, None, None) == (
        journal.definition("x"), journal.execution("x"), journal.timer("x", "y"),
    )  # fmt: skip
    assert ([], [], [], []) == (
        list(journal.messages("x")), list(journal.cells("x")), list(journal.node_runs("x")),
        journal.quarantine(),
    )  # fmt: skip


def test_an_empty_batch_is_no_change(journal):
    journal.commit(JournalCommit())

    assert [] == journal.unfinished()


def test_messages_are_stored_as_they_are_on_the_wire(journal):
    journal.commit(begun("x1"))
    journal.commit(JournalCommit(sent={1: token("a", accumulated_context={"$x": Raw(b'{"n":1}')})}))

    ((_, body),) = journal.messages("x1")
    wire = msgspec.json.decode(body)
    assert ("a", {"$x": {"n": 1}}) == (wire["token_id"], wire["accumulated_context"])
