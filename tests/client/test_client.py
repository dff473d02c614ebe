"""The client: the same methods on an engine in this process and on a server, sync and async."""

import asyncio
import subprocess
import sys
import threading
from contextlib import asynccontextmanager

import pytest

import onward
from api.documents import chain, fan_out, waiting
from api.service import PATIENCE_S, distributed, embedded, serving
from onward import AsyncEngine, Engine
from onward.client.errors import UnreachableError, refusal
from onward.client.event_stream import follow, read_stream
from onward.client.transports.transport import Streamed
from onward.errors import InputError


@pytest.fixture(params=["inside", "embedded", "distributed"])
def opened(request, tmp_path):
    """An engine in this process, and one behind each kind of server, to be opened."""
    if request.param == "inside":
        return AsyncEngine.embedded(tmp_path / "onward.db")
    names = ("rabbitmq", "redis", "postgres")
    if request.param == "embedded":
        return behind(embedded(tmp_path))
    return behind(distributed(*[request.getfixturevalue(f"{name}_url") for name in names]))


@asynccontextmanager
async def behind(place):
    """An engine behind a server."""
    async with (
        place as backend,
        serving(backend) as service,
        AsyncEngine.connect(service.url) as engine,
    ):
        yield engine


@pytest.fixture
async def engine(opened):
    async with opened as one:
        yield one


async def test_a_run_is_started_followed_and_read(engine):
    run = await engine.start(fan_out(), {"items": [1, 2, 3, 4]})

    result = await run.result(PATIENCE_S)
    events = [event async for event in run.events()]
    info = await run.info()

    assert [2, 4, 8] == [one for one in result if isinstance(one, int)]
    assert list(range(1, len(events) + 1)) == [event.seq for event in events]
    assert "run.ended" in {event.type for event in events}
    assert ("completed", "fan") == (info.status, info.workflow_id)
    assert {"start", "each", "double", "all"} == {node.node_id for node in await run.nodes()}
    assert [0, 1, 2, 3] == sorted([item.index async for item in run.items("each")])
    assert 1 == len([visit async for visit in run.visits(node_id="double", status="failed")])
    assert "$all" in await run.context()
    assert result == await run.value("$all")
    assert result[0] == (await run.data("$all", pointer="/0")).value
    assert "fan" == (await run.definition())["id"]
    assert "completed" in (await run.explain()).summary
    assert run.id in [run.execution_id async for run in engine.runs(workflow_id="fan")]


async def test_workflows_are_kept_published_compared_and_taken_elsewhere(engine):
    first = await engine.push(chain(), note="first")
    same = await engine.push(chain())
    second = await engine.push(chain(expression="{text: $trigger.name}"), publish=False)

    assert (1, 1) == (first.published_version, first.latest_version)
    assert first == same
    assert (1, 2) == (second.published_version, second.latest_version)
    assert 2 == (await engine.publish("hello")).published_version
    assert 1 == (await engine.rollback("hello")).published_version
    assert [2, 1] == [version.version async for version in engine.versions("hello")]
    assert ["/nodes/greet/parameters/expression"] == [
        one.pointer for one in await engine.diff("hello", 1, 2)
    ]
    assert not (await engine.disable("hello")).enabled
    with pytest.raises(onward.ConflictError) as refused:
        await engine.start("hello", {"name": "Ada"})
    assert "WORKFLOW_DISABLED" == refused.value.code
    assert (await engine.enable("hello")).enabled
    await engine.publish("hello", 2)
    exported = await engine.export_workflows()
    assert ["hello"] == (await engine.import_workflows(exported)).unchanged
    run = await engine.start("hello", {"name": "Ada"}, key="one")
    again = await engine.start("hello", {"name": "Ada"}, key="one")
    assert run.id == again.id
    assert {"text": "Ada"} == await run.result(PATIENCE_S)


async def test_refusals_are_typed_and_say_where_and_what_to_do(engine):
    with pytest.raises(onward.MissingError) as missing:
        await engine.workflow("nobody")
    with pytest.raises(onward.InvalidError) as invalid:
        await engine.start({"id": "x", "nodes": []})
    with pytest.raises(onward.InvalidError) as unread:
        await engine.call("GET", "/runs", query={"cursor": "nonsense"})

    assert (404, "NOT_FOUND") == (missing.value.status, missing.value.code)
    assert ("INVALID_DEFINITION", "/nodes") == (invalid.value.code, invalid.value.pointer)
    assert invalid.value.hint
    assert "BAD_CURSOR" == unread.value.code
    assert unread.value.request_id


async def test_a_run_that_does_not_complete_is_raised(engine):
    failing = await engine.start(chain(expression='error("no")'), {"name": "Ada"})
    with pytest.raises(onward.RunFailedError) as failed:
        await failing.result(PATIENCE_S)
    run = await engine.start(waiting())
    with pytest.raises(TimeoutError):
        await run.result(0.05)
    await run.cancel("enough")
    with pytest.raises(onward.RunFailedError) as cancelled:
        await run.result(PATIENCE_S)

    assert "halted" == failed.value.status
    assert ("cancelled", "enough") == (cancelled.value.status, cancelled.value.error["message"])
    with pytest.raises(onward.ConflictError):
        await run.cancel()


async def test_a_result_of_any_size_comes_whole(engine):
    expression = '{list: [range(30000)], text: ("x" * 300000), none: null, deep: [[range(70000)]]}'
    run = await engine.start(chain(expression=expression), {"name": "Ada"})

    whole = await run.result(PATIENCE_S)

    assert list(range(30_000)) == whole["list"]
    assert "x" * 300_000 == whole["text"]
    assert whole["none"] is None
    assert [list(range(70_000))] == whole["deep"]


async def test_the_events_of_many_runs_go_on_where_they_were_left(engine):
    runs = [await engine.start(chain(), {"name": "Ada"}) for _ in range(3)]
    for run in runs:
        await run.wait(PATIENCE_S)
    found, cursor = [], "0"
    while sum(one.type == "run.ended" for one in found) < 3:
        async with asyncio.timeout(PATIENCE_S):
            async for event in engine.events(cursor=cursor):
                found.append(event)
                cursor = event.cursor
                break

    for run in runs:
        seqs = [one.seq for one in found if one.execution_id == run.id]
        assert list(range(1, len(seqs) + 1)) == seqs


def test_the_same_without_an_event_loop(tmp_path):
    with Engine.embedded(tmp_path / "onward.db") as engine:
        engine.push(chain())
        run = engine.start("hello", {"name": "Ada"})
        watched = [event.type for event in run.events()]
        first = next(iter(run.events()))

        assert {"text": "Hello, Ada"} == run.result(PATIENCE_S)
        assert ("run.started", "run.ended") == (watched[0], watched[-1])
        assert 1 == first.seq
        assert ["hello"] == [workflow.workflow_id for workflow in engine.workflows()]
        assert [run.id] == [run.execution_id for run in engine.runs(status=["completed"])]
        assert 12 == engine.evaluate("{{ $a * 3 }}", variables={"a": 4})
        assert "embedded" == engine.server()["mode"]
        assert 1 == len(engine.listed("workers"))
        with pytest.raises(onward.MissingError):
            engine.run("nobody").info()
    with pytest.raises(UnreachableError, match="not open"):
        engine.server()


def test_who_waits_when_the_engine_is_closed_is_told(tmp_path):
    told = []
    with Engine.embedded(tmp_path / "onward.db") as engine:
        run = engine.start(waiting())
        events = iter(run.events())
        first = next(events)

        def follow_on():
            try:
                for event in events:
                    told.append(event.type)
            except UnreachableError as problem:
                told.append(str(problem))

        thread = threading.Thread(target=follow_on)
        thread.start()
        while "node.waiting" not in told:
            pass
    thread.join(PATIENCE_S)

    assert "run.started" == first.type
    assert "the engine was closed meanwhile" == told[-1]


def test_who_comes_after_the_engine_was_closed_is_told(tmp_path):
    with Engine.embedded(tmp_path / "onward.db") as engine:
        events = iter(engine.start(waiting()).events())
        assert "run.started" == next(events).type

    with pytest.raises(UnreachableError, match="the engine was closed meanwhile"):
        next(events)


async def test_a_server_that_is_not_there_is_told():
    async with AsyncEngine.connect("http://127.0.0.1:1") as engine:
        with pytest.raises(onward.UnreachableError, match="does not answer"):
            await engine.server()


@pytest.mark.parametrize("url", ["onward", "ftp://onward", "http://", "http://[::1"])
async def test_what_is_no_address_is_refused(url):
    with pytest.raises(InputError, match="is no address of a server"):
        await AsyncEngine.connect(url).open()


class Breaking:
    """A stream that breaks after each event, in the middle of the next one."""

    def __init__(self, last):
        self.last = last
        self.asked = []

    def stream(self, path, query, headers):
        @asynccontextmanager
        async def opened():
            after = int(headers.get("last-event-id", 0))
            self.asked.append(after)
            if after >= self.last:
                yield Streamed(204, {}, nothing())
                return
            yield Streamed(200, {}, broken(after + 1))

        async def nothing():
            return
            yield b""

        async def broken(seq):
            yield b"retry: 1\n\n: still here\n\nid: %d\nevent: x\nda" % seq
            yield b'ta: {"seq": %d}\n\nid: %d\ndata: {"se' % (seq, seq + 1)
            raise UnreachableError("gone")

        return opened()


async def test_a_stream_that_breaks_is_taken_up_where_it_broke():
    source = Breaking(5)

    told = [one async for one in follow(source, "/x", {}, "")]

    assert ["1", "2", "3", "4", "5"] == [one.id for one in told]
    assert [0, 1, 2, 3, 4, 5] == source.asked


async def test_lines_end_in_any_way_and_data_may_have_several():
    async def chunks():
        yield b"id: 7\r\ndata: a\r\nda"
        yield b"ta: b\r\n\r\n"

    assert [("7", b"a\nb")] == [tuple(one) async for one in read_stream(chunks())]


def test_an_answer_that_is_not_onwards_is_still_an_error():
    assert isinstance(refusal(502, b"<html>"), UnreachableError)
    assert 418 == refusal(418, b"{}").status


def test_importing_onward_loads_nothing_of_the_client():
    code = (
        "import sys, onward; onward.__version__;"
        " print([name for name in sys.modules if name.startswith(('onward.', 'msgspec', "
        "'asyncio'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]\n" == done.stdout
    assert {"Engine", "AsyncEngine", "ApiError"} <= set(dir(onward))
    with pytest.raises(AttributeError, match="has no attribute 'engine'"):
        onward.engine  # noqa: B018
