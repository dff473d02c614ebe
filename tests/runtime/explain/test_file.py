"""What a run of the embedded engine waits for: every kind of wait, read from its file."""

import json
import os
import sqlite3
from contextlib import closing
from types import SimpleNamespace

import pytest

from onward.bootstrap.embedded import open_engine
from onward.bootstrap.host import now_ms
from onward.bootstrap.settings import EmbeddedSettings
from onward.cli.main import main
from onward.kernel.timestamps import from_iso
from onward.languages.graph.document import parse_definition
from onward.languages.graph.program import compile_graph
from runtime.cluster.lab import until
from support.documents import TRIGGER, chosen, node, transform, workflow
from support.explanation import explain_in_file
from support.probe import Book, catalogue_with

HELD = "queued or at work; if nothing serves this database, `onward continue` executes it"


class Desk:
    """An engine on a file, and what is said about its runs."""

    def __init__(self, engine, path, book, catalogue):
        self.engine = engine
        self.path = path
        self.book = book
        self.catalogue = catalogue

    async def start(self, document, given=None):
        program = compile_graph(parse_definition(document), self.catalogue)
        return await self.engine.start(program, program.document.source, given)

    async def explain(self, run):
        return await explain_in_file(run, self.path, self.catalogue)

    async def explained(self, run, *texts):
        """Return the explanation as soon as it says all of `texts`, and nothing else."""
        seen = []

        async def told():
            seen[:] = [await self.explain(run)]
            return sorted(texts) == sorted(wait.text for wait in seen[0].waits)

        try:
            await until(told)
        except TimeoutError:
            assert sorted(texts) == sorted(wait.text for wait in seen[0].waits)
        return seen[0]


@pytest.fixture
async def desk(tmp_path):
    book = Book(now_ms, lambda: None)
    catalogue = catalogue_with(book)
    path = tmp_path / "onward.db"
    async with open_engine(EmbeddedSettings(database=path), catalogue=catalogue) as engine:
        yield Desk(engine, path, book, catalogue)


async def test_splits_name_the_items_that_are_missing_by_their_whole_lineage(desk):
    document = workflow(
        TRIGGER,
        node("users", "split", input_array="$trigger"),
        node("orders", "split", input_array="$item"),
        node("p", "probe", gate="$item"),
        node("of_one", "aggregator"),
        node("of_all", "aggregator"),
        "start -> users -> orders -> p -> of_one -> of_all",
    )
    desk.book.gate("open").set()
    run = await desk.start(document, [["open"], ["open", "open", "shut"]])

    await desk.explained(
        run,
        "split users has 1 of 2 items at of_all, missing users[1]",
        "split orders (users[1]) has 2 of 3 items at of_one, missing users[1] > orders[2]",
        f"node p at users[1] > orders[2]: {HELD}",
    )


async def test_a_window_says_what_has_not_started(desk):
    document = workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger", max_concurrency=2),
        node("p", "probe", gate="shut"),
        node("all", "aggregator"),
        "start -> each -> p -> all",
    )
    run = await desk.start(document, [1, 2, 3, 4, 5])

    await desk.explained(
        run,
        "split each has 0 of 5 items at all, missing each[0], each[1];"
        " 3 not started yet, at most 2 run at once",
        f"node p at each[0], each[1]: {HELD}",
    )


async def test_a_merge_names_the_edge_that_is_missing_and_the_one_that_is_dead(desk):
    document = workflow(
        TRIGGER,
        transform("quick", "1"),
        node("held", "probe", gate="shut"),
        chosen("either", "false", yes="yes"),
        node("join", "merge"),
        "start -> quick -> join",
        "start -> held",
        "late: held -> join",
        "start -> either",
        "yes: either -> join",
    )
    run = await desk.start(document)

    await desk.explained(
        run,
        "merge join has 1 of 3 branches, missing late from held; not taken: yes",
        f"node held: {HELD}",
    )


async def test_timers_say_when_a_wait_a_retry_and_a_limit_are_due(desk):
    retry = {"max_attempts": 3, "delay": 600, "backoff": "constant"}
    document = workflow(
        TRIGGER,
        transform("quick", "1"),
        node("pause", "wait", amount=1, unit="hours"),
        node("p", "probe", fail_first=1, retry=retry),
        node("join", "merge", timeout=60),
        "start -> quick -> join",
        "start -> pause -> join",
        "start -> p -> join",
    )
    run = await desk.start(document)

    async def waiting():
        kinds = [wait.kind for wait in (await desk.explain(run)).waits]
        return ["merge", "limit", "timer", "timer"] == kinds

    await until(waiting)
    _, limit, retrying, pause = (await desk.explain(run)).waits

    assert f"join gives up at {limit.due_at} if it still waits then" == limit.text
    assert retrying.text == (
        f"p is tried again at {retrying.due_at}, attempt 2, after attempt 1 fails [PROBE]"
    )
    assert f"pause waits until {pause.due_at}" == pause.text
    dues = [from_iso(one.due_at) - now_ms() for one in (limit, retrying, pause)]
    assert [True] * 3 == [
        due - 30_000 < left <= due
        for due, left in zip((60_000, 600_000, 3_600_000), dues, strict=True)
    ]


async def test_a_run_that_has_ended_says_how_and_when(desk):
    run = await desk.start(workflow(TRIGGER, transform("a", "1"), "start -> a"))
    await desk.engine.wait(run)

    found = await desk.explain(run)

    assert (f"it has completed at {found.ended_at}", ()) == (found.summary, found.waits)


async def test_a_message_that_cannot_be_read_is_told(tmp_path):
    book = Book(now_ms, lambda: None)
    catalogue, path = catalogue_with(book), tmp_path / "onward.db"
    document = workflow(TRIGGER, node("p", "probe", gate="shut"), "start -> p")
    async with open_engine(EmbeddedSettings(database=path), catalogue=catalogue) as engine:
        run = await Desk(engine, path, book, catalogue).start(document)
        await book.until_parked(1)
    with closing(sqlite3.connect(path)) as db, db:
        assert 1 == db.execute("UPDATE message SET body = x'ff'").rowcount

    found = await explain_in_file(run, path, catalogue)

    assert ["1 of its messages cannot be read: it will end in quarantine"] == [
        wait.text for wait in found.waits
    ]


@pytest.fixture
def onward(tmp_path, monkeypatch, capfd):
    """The command in an empty directory."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("ONWARD_")]:
        monkeypatch.delenv(name)

    def run(*words):
        with pytest.raises(SystemExit) as ending:
            main([str(word) for word in words])
        out, err = capfd.readouterr()
        return SimpleNamespace(code=ending.value.code, out=out, err=err)

    return run


@pytest.fixture
def ran(onward, tmp_path):
    """A run that has completed in the default database."""
    file = tmp_path / "flow.json"
    file.write_text(json.dumps(workflow(TRIGGER, transform("a", "1"), "start -> a")))
    assert 0 == onward("run", file, "--id", "mine").code
    return "mine"


def test_the_command_explains_a_run_in_the_database(onward, ran):
    said, data = onward("explain", ran), onward("explain", ran, "--json")

    assert (0, 0) == (said.code, data.code)
    assert "completed" == json.loads(data.out)["status"]
    assert f"mine (flow): {json.loads(data.out)['summary']}\n" == said.out


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (["nobody"], 5, "Error: there is no run called nobody [NOT_FOUND]\n"),
        (["no body"], 2, "RUN 'no body' must match"),
        (["mine", "--db", "other.db"], 2, "there is no database other.db"),
        (["mine", "--redis", "redis://x"], 2, "the cluster also needs --rabbitmq"),
        (["mine", "--db", "a", "--redis", "redis://x"], 2, "--db and --redis exclude each other"),
    ],
)
def test_a_mistake_is_explained(onward, ran, words, code, problem):
    done = onward("explain", *words)

    assert (code, "") == (done.code, done.out)
    assert problem in done.err
