"""What the engine and its activities open is closed, on whatever path, in either event loop."""

import asyncio
import os
import signal
import sqlite3
from contextlib import closing, suppress

import pytest

from onward.adapters.host.commands import HostCommands
from onward.adapters.sqlite.history import SqliteHistory
from onward.adapters.sqlite.journal import SqliteJournal
from onward.bootstrap.embedded import open_engine
from onward.bootstrap.host import now_ms
from onward.bootstrap.settings import EmbeddedSettings
from onward.errors import StorageError
from onward.expressions import compile_jq
from onward.expressions.time_slice import TimeSlice, TimeSliceExceeded, within_time_slice
from onward.kernel.messages import Token
from onward.kernel.outcome import Succeeded
from onward.kernel.program import Activity
from onward.languages.graph.document import parse_definition
from onward.languages.graph.program import compile_graph
from onward.ports.nodes.commands import Command
from onward.ports.nodes.outside import OutsideError
from onward.runtime.activity.evaluators import Evaluators
from onward.runtime.activity.runner import ActivityRunner
from runtime.activity.burning import Burn, add_burning
from support.documents import TRIGGER, node, transform, workflow
from support.harness import ListLog, NamedSecrets, NoMail, NoNetwork
from support.leaks import every_loop, left_open
from support.probe import Book, catalogue_with

TOKEN = Token(
    workflow_id="wf", execution_id="e", current_node="n", accumulated_context={}, token_id="t"
)


async def cancelled_after(seconds, work):
    task = asyncio.create_task(work)
    await asyncio.sleep(seconds)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


# -- expressions -----------------------------------------------------------------------------------


def question(source):
    with pytest.raises(TimeSliceExceeded) as caught, within_time_slice(TimeSlice()):
        compile_jq(source).evaluate(None, {})
    return caught.value


async def an_expression_is_answered():
    evaluators = Evaluators()
    assert 49_999 == (await evaluators.answer(question("last(range(50000))"))).value
    await evaluators.aclose()


async def an_evaluation_is_cancelled_at_any_time():
    evaluators = Evaluators()
    for seconds in (0, 0.001, 0.01, 0.3):
        await cancelled_after(seconds, evaluators.answer(question("until(false; .)")))
    await evaluators.aclose()


async def an_idle_process_dies():
    evaluators = Evaluators()
    await evaluators.answer(question("last(range(50000))"))
    os.kill(evaluators._pool.idle[0].child.pid, signal.SIGKILL)
    assert 59_999 == (await evaluators.answer(question("last(range(60000))"))).value
    os.kill(evaluators._pool.idle[0].child.pid, signal.SIGKILL)
    await asyncio.sleep(0.1)
    await evaluators.aclose()


async def no_process_starts():
    evaluators = Evaluators()
    evaluators._pool.command = ("/nothing/like/it",)
    with pytest.raises(FileNotFoundError):
        await evaluators.answer(question("last(range(50000))"))
    evaluators._pool.command = ("false",)
    assert (await evaluators.answer(question("last(range(50000))"))).error
    await evaluators.aclose()


async def evaluators_are_closed_while_one_evaluates():
    evaluators = Evaluators()
    answering = asyncio.create_task(evaluators.answer(question("last(range(50000))")))
    await asyncio.sleep(0.01)
    await evaluators.aclose()
    assert 49_999 == (await answering).value


# -- nodes -----------------------------------------------------------------------------------------


async def nodes_run_in_processes():
    activities = ActivityRunner(NoNetwork(), NoMail(), ListLog(), NamedSecrets())

    async def run(timeout_s=None, **given):
        return await activities.run(
            TOKEN, Activity(Burn(**given), None, timeout_s, runs_in="process")
        )

    assert isinstance(await run(value=1), Succeeded)
    assert "NODE_PROCESS_DIED" == (await run(does="exit")).error.code
    assert "NODE_TIMEOUT" == (await run(seconds=600, timeout_s=0.05)).error.code
    for seconds in (0, 0.001, 0.01, 0.3):
        await cancelled_after(seconds, run(seconds=600))
    assert isinstance(await run(value=1), Succeeded)
    await activities.aclose()


# -- commands --------------------------------------------------------------------------------------

COMMANDS = HostCommands(["shell"])


def shell(text, **more):
    return Command(argv=("/bin/sh", "-c", text), **more)


async def commands_run():
    assert 3 == (await COMMANDS.run("shell", shell("cat; exit 3", stdin=b"in"))).code
    assert 0 == (await COMMANDS.run("shell", shell("sleep 0.3 & true", max_bytes=10))).code
    await COMMANDS.run("shell", shell("true", stdin=b"x" * 1_000_000))
    with pytest.raises(OutsideError):
        await COMMANDS.run("shell", shell("yes", max_bytes=1000))


async def commands_are_cancelled_at_any_time():
    stuck = shell("sleep 600", stdin=b"x" * 1_000_000, undo=("sleep", "0.01"))
    for seconds in (0, 0.001, 0.01, 0.1):
        await cancelled_after(seconds, COMMANDS.run("shell", stuck))

        async def converse():
            async with COMMANDS.converse("shell", stuck) as conversation:
                await conversation.hear()

        await cancelled_after(seconds, converse())


async def a_conversation_is_cancelled_while_it_ends():
    deaf = shell("trap '' HUP TERM; echo here; while :; do sleep 1; done")

    async def converse():
        async with COMMANDS.converse("shell", deaf) as conversation:
            await conversation.hear()

    task = asyncio.create_task(converse())
    await asyncio.sleep(0.2)
    for _ in range(5):
        task.cancel()
        await asyncio.sleep(0)
    with suppress(asyncio.CancelledError):
        await task


PATHS = [
    an_expression_is_answered,
    an_evaluation_is_cancelled_at_any_time,
    an_idle_process_dies,
    no_process_starts,
    evaluators_are_closed_while_one_evaluates,
    nodes_run_in_processes,
    commands_run,
    commands_are_cancelled_at_any_time,
    a_conversation_is_cancelled_while_it_ends,
]


@every_loop
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
def test_nothing_is_left_open_when(path, loop_factory):
    assert [] == left_open(path, loop_factory)


@every_loop
@pytest.mark.parametrize("seconds", [0, 0.05, 0.5])
def test_nothing_is_left_open_when_an_engine_stops_while_processes_start_and_run(
    tmp_path, loop_factory, seconds
):
    catalogue = add_burning(catalogue_with(Book(now_ms, lambda: None)))
    document = workflow(
        TRIGGER,
        node("hot", "burn", seconds=600),
        transform("long", "until(false; .)"),
        "start -> hot",
        "start -> long",
    )
    program = compile_graph(parse_definition(document), catalogue)

    async def stop_early():
        settings = EmbeddedSettings(database=tmp_path / "onward.db")
        async with open_engine(settings, catalogue=catalogue) as engine:
            await engine.start(program, program.document.source, None)
            await asyncio.sleep(seconds)

    assert [] == left_open(stop_early, loop_factory)


@pytest.mark.parametrize("opens", [SqliteJournal, SqliteHistory])
@pytest.mark.parametrize("content", [b"no database" * 1000, None])
def test_nothing_is_left_open_of_a_file_that_cannot_be_used(tmp_path, opens, content):
    database = tmp_path / "onward.db"
    if content is None:
        with closing(sqlite3.connect(database)) as db:
            db.execute("CREATE TABLE of_another_program (a)")
    else:
        database.write_bytes(content)

    async def refused():
        with pytest.raises(StorageError):
            opens(database)

    assert [] == left_open(refused, asyncio.new_event_loop)
