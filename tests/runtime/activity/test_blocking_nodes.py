"""Nodes that block or burn CPU: the engine goes on beside them, and none of them can hurt it."""

import asyncio
import os

import msgspec
import pytest

from onward.bootstrap.embedded import open_engine
from onward.bootstrap.host import now_ms
from onward.bootstrap.settings import EmbeddedSettings
from onward.kernel.messages import Token
from onward.kernel.outcome import Failed, Succeeded
from onward.kernel.program import Activity
from onward.languages.graph.document import parse_definition
from onward.languages.graph.program import compile_graph
from onward.ports.nodes.node import Catalogue
from onward.runtime.activity.runner import ActivityRunner
from runtime.activity.burning import Burn, add_burning
from support.documents import TRIGGER, node, transform, workflow
from support.harness import ListLog, NamedSecrets, NoMail, NoNetwork
from support.probe import Book, catalogue_with

TOKEN = Token(
    workflow_id="wf", execution_id="e", current_node="n", accumulated_context={}, token_id="t"
)


@pytest.fixture
async def activities():
    one = ActivityRunner(NoNetwork(), NoMail(), ListLog(), NamedSecrets())
    yield one
    await one.aclose()


async def run(activities, runs_in, *, timeout_s=None, memory_mb=None, credential=None, **given):
    node = Burn(**given)
    return await activities.run(
        TOKEN, Activity(node, credential, timeout_s, runs_in=runs_in, memory_mb=memory_mb)
    )


@pytest.mark.parametrize("where", ["thread", "process"])
async def test_a_plain_function_runs_beside_the_event_loop(activities, where):
    outcome = await run(activities, where, value={"a": [1]})

    assert isinstance(outcome, Succeeded)
    value, key, attempt, process = msgspec.json.decode(outcome.output)
    assert ({"a": [1]}, "e-t", 1) == (value, key, attempt)
    assert (process == os.getpid()) == (where == "thread")


async def test_processes_are_used_again(activities):
    first, second = [await run(activities, "process") for _ in range(2)]

    assert msgspec.json.decode(first.output)[3] == msgspec.json.decode(second.output)[3]


@pytest.mark.parametrize("where", ["thread", "process"])
async def test_an_exception_is_a_failed_node(activities, where):
    outcome = await run(activities, where, does="crash")

    assert ("ZeroDivisionError: by hand", "NODE_CRASHED") == (
        outcome.error.message,
        outcome.error.code,
    )


async def test_a_process_that_dies_is_a_failed_node_and_another_takes_its_place(activities):
    died = await run(activities, "process", does="exit")
    after = await run(activities, "process", value=1)

    assert "NODE_PROCESS_DIED" == died.error.code
    assert "the node's process ended with code 3 in the middle of the node" == died.error.message
    assert isinstance(after, Succeeded)


async def test_a_process_keeps_to_its_memory(activities):
    outcome = await run(activities, "process", does="hoard", memory_mb=200)

    assert ("NODE_MEMORY", "the node needs more memory than its limit of 200 MB") == (
        outcome.error.code,
        outcome.error.message,
    )


async def test_a_process_is_killed_when_its_time_is_over(activities):
    outcome = await run(activities, "process", seconds=600, timeout_s=0.2)
    after = await run(activities, "process", value=1)

    assert ("NODE_TIMEOUT", "the node did not finish within 0.2 s") == (
        outcome.error.code,
        outcome.error.message,
    )
    assert isinstance(after, Succeeded)


async def test_a_thread_is_abandoned_when_its_time_is_over_and_too_many_are_refused(
    activities, monkeypatch
):
    monkeypatch.setattr("onward.runtime.activity.runner.MOST_ABANDONED", 1)
    late = await run(activities, "thread", seconds=1, timeout_s=0.05)
    refused = await run(activities, "thread", value=1)

    assert "NODE_TIMEOUT" == late.error.code
    assert "its thread runs until it ends by itself" in late.error.message
    assert "NODE_NO_THREAD" == refused.error.code
    async with asyncio.timeout(60):
        while activities.threads.abandoned:
            await asyncio.sleep(0.01)
    assert isinstance(await run(activities, "thread", value=1), Succeeded)


async def test_what_a_node_in_a_process_logs_arrives_without_its_secrets(activities):
    activities.secrets.known["c"] = {"key": "hunter2-hunter2"}

    outcome = await run(activities, "process", does="print", credential="c")

    assert isinstance(outcome, Succeeded)
    ((level, message, fields),) = activities.log.lines
    assert ("info", "at work", 1, "e") == (level, message, fields["step"], fields["run"])
    assert "hunter2" not in str(fields)


async def test_an_output_that_cannot_travel_is_a_failed_node(activities):
    outcome = await run(activities, "process", does="unpicklable")

    assert isinstance(outcome, Failed)
    assert "NODE_CRASHED" == outcome.error.code


def test_a_type_that_cannot_run_where_it_should_is_refused():
    catalogue = Catalogue()

    class Local(msgspec.Struct, frozen=True):
        """Be local."""

        def run(self, tools):
            """Do nothing."""

    class Loops(msgspec.Struct, frozen=True):
        """Be asynchronous."""

        async def run(self, tools):
            """Do nothing."""

    for kind, settings, problem in [
        (Local, {"runs_in": "process"}, "at the top level of a module"),
        (Local, {"runs_in": "loop"}, "needs `async def run` for the event loop"),
        (Loops, {"runs_in": "thread"}, "needs a plain `def run`"),
        (Local, {"memory_mb": 10}, "only a process has a limit of memory"),
    ]:
        with pytest.raises(ValueError, match=problem):
            catalogue.register("x", **settings)(kind)
    catalogue.register("a")(Local)
    catalogue.register("b")(Loops)
    assert ["thread", "loop"] == [kind.runs_in for kind in catalogue]


@pytest.mark.parametrize("kind", ["burn", "burn_in_thread"])
async def test_an_engine_goes_on_while_a_node_burns(tmp_path, kind):
    """The other branch gets through 20 nodes before the one that burns is done."""
    catalogue = add_burning(catalogue_with(Book(now_ms, lambda: None)))
    names = [f"n{i}" for i in range(20)]
    document = workflow(
        TRIGGER,
        node("hot", kind, seconds=2),
        *(transform(name, "1") for name in names),
        "start -> hot",
        "start -> " + " -> ".join(names),
    )
    program = compile_graph(parse_definition(document), catalogue)
    seen = []
    settings = EmbeddedSettings(database=tmp_path / "onward.db")
    async with open_engine(settings, catalogue=catalogue, observe=[seen.append]) as engine:
        run = await engine.start(program, program.document.source, None)
        ended = await engine.wait(run)

    done = [message.node_id for message in seen if getattr(message, "status", "") == "success"]
    assert "completed" == ended.status
    assert done.index("hot") > done.index("n19")
