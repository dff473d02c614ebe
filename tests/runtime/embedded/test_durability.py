"""Restarts: a run goes on where its last commit left it, and what was done stays done once."""

import asyncio
import sqlite3
from contextlib import closing

import pytest

from onward.adapters.sqlite.journal import SqliteJournal
from onward.errors import InputError, StorageError
from support.documents import TRIGGER, chosen, node, transform, workflow
from support.harness import Lab, patiently

EVERYTHING = workflow(
    TRIGGER,
    node("outer", "split", input_array="$trigger", max_concurrency=2),
    node("inner", "split", input_array="$item"),
    chosen("even", "$item % 2 == 0", "yes", "no"),
    node("p", "probe", tag="$item", value="{{ $item * 10 }}"),
    node("q", "probe", tag="$item", fail_first=1, value="$item",
         retry={"max_attempts": 2, "delay": 5}),
    node("join", "merge"),
    node("row", "aggregator", timeout=3600),
    node("pause", "wait", amount="{{ $index + 1 }}"),
    node("table", "aggregator", collect="$row"),
    transform("left", "$table"),
    node("right", "probe", tag="right", fail_first=9, error={"type": "ignore"}),
    node("both", "merge"),
    "start -> outer -> inner -> even",
    "yes: even -> p -> join",
    "no: even -> q -> join",
    "join -> row -> pause -> table -> left -> both",
    "start -> right -> both",
)  # fmt: skip
GIVEN = [[1, 2], [], [3], [4, 5]]


class Photographer(SqliteJournal):
    """A journal that keeps a copy of the file after every commit."""

    def __init__(self, path, album):
        super().__init__(path)
        self._path = path
        self._album = album

    def commit(self, batch):
        super().commit(batch)
        copy = self._album / f"{len(list(self._album.iterdir())):03d}.db"
        with closing(sqlite3.connect(self._path)) as db, closing(sqlite3.connect(copy)) as out:
            db.backup(out)


def settled(ended):
    """Return what a run came to."""
    return ended.status, ended.context


async def test_a_run_can_die_after_any_commit_and_ends_the_same(lab, tmp_path):
    album = tmp_path / "album"
    album.mkdir()
    lab.open_journal = lambda path: Photographer(path, album)
    whole = await lab.run(EVERYTHING, GIVEN)
    visits = {(run.token_id, run.node_id) for run in whole.history}
    keys = {execution.key for execution in lab.book.executions}

    pictures = sorted(album.iterdir())[:-1]
    assert len(pictures) > 10
    for picture in pictures:
        again = Lab(picture.parent)
        again.path, again.clock.now = picture, lab.clock.now
        resumed = await again.resume(whole.execution_id)
        assert settled(whole) == settled(resumed)
        assert visits == {(run.token_id, run.node_id) for run in resumed.history}
        assert {execution.key for execution in again.book.executions} <= keys


def over(news):
    return news.status != "running"


async def test_a_run_that_was_stopped_and_resumed_again_and_again_ends_the_same(lab, tmp_path):
    expected = settled(await Lab(tmp_path / "other").run(EVERYTHING, GIVEN))
    async with lab.engine() as engine:
        run = await lab.start(engine, EVERYTHING, GIVEN)
    rounds = 0
    unfinished = True
    while unfinished:
        rounds += 1
        heard = len(lab.news)
        async with lab.engine() as engine:
            engine.resume(run)
            await lab.book.until(lambda heard=heard: any(map(over, lab.news[heard:])))
            unfinished = bool(engine.unfinished())

    async with lab.engine() as engine:
        ended = await lab.finish(engine, run)

    assert rounds > 5
    assert expected == settled(ended)


async def test_a_run_is_committed_before_its_id_is_returned(lab):
    async with lab.engine() as engine:
        run = await lab.start(engine, workflow(TRIGGER, node("p", "probe", gate="g"), "start -> p"))
        with closing(sqlite3.connect(lab.path)) as db:
            rows = db.execute("SELECT execution_id, status FROM execution").fetchall()

    assert [(run, "running")] == rows


async def test_an_activity_starts_only_after_its_token_is_committed(lab):
    seen = []

    async def looks(tools):
        with closing(sqlite3.connect(lab.path)) as db:
            seen.append(db.execute("SELECT count(*) FROM message").fetchone()[0])
        raise RuntimeError("seen")

    lab.book.acts["looks"] = looks

    await lab.run(workflow(TRIGGER, node("p", "probe", does="looks"), "start -> p"))

    assert [1] == seen


async def test_news_is_told_only_after_it_is_committed(lab):
    document = workflow(
        TRIGGER, transform("a", "1"), node("p", "probe", gate="g"), "start -> a -> p"
    )
    async with lab.engine() as engine:
        run = await lab.start(engine, document)
        await lab.book.until_parked(1)
        told = {new.node_id for new in lab.news if new.status == "success"}
        with closing(sqlite3.connect(lab.path)) as db:
            stored = {row[0] for row in db.execute("SELECT node_id FROM node_run")}
        lab.book.gate("g").set()
        await lab.finish(engine, run)

    assert {"start", "a"} == told == stored


# -- ids -----------------------------------------------------------------------------------------

SIMPLE = workflow(TRIGGER, transform("a", "1"), "start -> a")


async def test_a_run_may_be_given_its_id_and_an_id_is_used_once(lab):
    ended = await lab.run(SIMPLE, execution_id="mine")
    async with lab.engine() as engine:
        with pytest.raises(InputError, match="mine already"):
            await lab.start(engine, SIMPLE, execution_id="mine")

    assert "mine" == ended.execution_id


async def test_two_starts_with_one_id_at_the_same_time_are_one_run_and_one_refusal(lab):
    async with lab.engine() as engine:
        starts = [lab.start(engine, SIMPLE, execution_id="mine") for _ in range(2)]
        answers = await asyncio.gather(*starts, return_exceptions=True)
        other = await lab.finish(engine, await lab.start(engine, SIMPLE))

    assert ["InputError", "str"] == sorted(type(answer).__name__ for answer in answers)
    assert "completed" == other.status


@pytest.mark.parametrize("bad", ["", " ", "a b", "a/b", "é", "\ud800", "x" * 500, "a\nb"])
async def test_an_id_that_messages_cannot_carry_is_refused(lab, bad):
    async with lab.engine() as engine:
        with pytest.raises(InputError, match="id"):
            await lab.start(engine, SIMPLE, execution_id=bad)


async def test_resuming_a_run_that_does_not_exist_says_so(lab):
    async with lab.engine() as engine:
        with pytest.raises(InputError, match="no run called nobody"):
            engine.resume("nobody")


async def test_resuming_a_run_that_has_ended_changes_nothing(lab):
    ended = await lab.run(SIMPLE)

    async with lab.engine() as engine:
        try:
            engine.resume(ended.execution_id)
        except InputError as refused:
            assert ended.execution_id in str(refused)
        message = await patiently(engine.wait(ended.execution_id))

    assert ended.message == message


async def test_resuming_a_run_that_is_being_served_does_not_run_it_twice(lab):
    document = workflow(TRIGGER, node("p", "probe", gate="g", tag="p"), "start -> p")
    async with lab.engine() as engine:
        run = await lab.start(engine, document)
        await lab.book.until_parked(1)
        try:
            engine.resume(run)
        except InputError as refused:
            assert run in str(refused)
        lab.book.gate("g").set()
        await lab.finish(engine, run)

    assert ["p"] == lab.book.tags()


async def test_waiting_for_an_unfinished_run_that_is_not_served_says_to_resume_it(lab):
    async with lab.engine() as engine:
        run = await lab.start(engine, workflow(TRIGGER, node("p", "probe", gate="g"), "start -> p"))
        await lab.book.until_parked(1)
    async with lab.engine() as engine:
        with pytest.raises(InputError, match="resume"):
            await engine.wait(run)


# -- a store that refuses ------------------------------------------------------------------------


class FullDisk(SqliteJournal):
    """A journal whose file may not grow any more once `full` is called."""

    def full(self):
        self._writer.execute("PRAGMA max_page_count = 1")


async def test_a_full_disk_is_told_to_everyone_who_waits(lab):
    journals = []

    def opened(path):
        journals.append(FullDisk(path))
        return journals[-1]

    lab.open_journal = opened
    document = workflow(TRIGGER, node("p", "probe", gate="g", value="$trigger"), "start -> p")
    async with lab.engine() as engine:
        run = await lab.start(engine, document, "x" * 20_000)
        await lab.book.until_parked(1)
        journals[0].full()
        lab.book.gate("g").set()
        with pytest.raises(StorageError, match="full"):
            await patiently(engine.wait(run))
        with pytest.raises(StorageError, match="full"):
            await lab.start(engine, document)
    lab.open_journal = SqliteJournal

    assert "completed" == (await lab.resume(run)).status


async def test_a_start_on_a_full_disk_fails_and_does_not_hang(lab):
    def opened(path):
        journal = FullDisk(path)
        journal.full()
        return journal

    lab.open_journal = opened
    async with lab.engine() as engine:
        with pytest.raises(StorageError, match="full"):
            await lab.start(engine, SIMPLE, "x" * 100_000)
