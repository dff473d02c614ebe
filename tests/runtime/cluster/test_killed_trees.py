"""kill -9 of the only worker, in the middle of whatever a document of the DSL does."""

import asyncio
import json
import signal

import pytest

from languages.serverless.lab import HEAD, register
from languages.serverless.test_killing import RUN_OTHER, Server, ask, other
from onward.adapters.sql.workflows import TableWorkflows
from runtime.cluster.lab import until

LOOP, BRANCH, BEATS, BELOW = 8, 4, 4, 6


@pytest.fixture
def server():
    one = Server(failures=2)
    yield one
    one.close()


def document(url):
    """Return a workflow with a loop, a fork, a pause between attempts, a listen and a subflow."""

    def branch(name):
        calls = [{f"{name}{number}": ask(f"{url}/fork")} for number in range(BRANCH)]
        return {name: {"do": calls}}

    beat = {"emit": {"event": {"with": {"type": "beat", "data": "${ $item }"}}}}
    hear = {
        "listen": {"to": {"any": [{"with": {"type": "beat"}}], "until": f"length == {BEATS}"}},
        "foreach": {
            "item": "beat",
            "do": [{"ask": ask(f"{url}/heard")}],
            "output": {"as": "$beat"},
        },
    }
    tell = {"for": {"in": f"[range({BEATS})]"}, "do": [{"beat": beat}], "output": {"as": "null"}}
    retry = {"delay": {"milliseconds": 1500}, "limit": {"attempt": {"count": 3}}}
    return {
        "document": HEAD,
        "do": [
            {"loop": {"for": {"in": f"[range({LOOP})]"}, "do": [{"ask": ask(f"{url}/loop")}]}},
            {"all": {"fork": {"branches": [branch("a"), branch("b")]}}},
            {"t": {"try": [{"ask": ask(f"{url}/flaky")}], "catch": {"retry": retry}}},
            {
                "both": {
                    "fork": {"branches": [{"hear": hear}, {"tell": tell}]},
                    "export": {"as": "{heard: .[0]}"},
                }
            },
            {"below": {**RUN_OTHER, "output": {"as": "{heard: $context.heard, calls: .calls}"}}},
        ],
    }


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_tree_goes_on_whenever_its_worker_is_killed(idle, fleet, server):
    await register(TableWorkflows(idle.cluster.tables), json.dumps(other(server, BELOW)))
    file = fleet.folder / "workflow.json"
    file.write_text(json.dumps(document(server.url)))
    for name in ("master", "scheduler"):
        await asyncio.to_thread(fleet.start(name).says, "ready")
    worker = fleet.start("worker")
    await asyncio.to_thread(worker.says, "ready")
    submit = fleet.start("submit", file, "--wait", "--timeout", 200, "--json")
    deaths = {"/loop": 3, "/fork": 3, "/flaky": 1, "/heard": 2, "/below": 3}
    for path, many in deaths.items():

        async def asked(path=path, many=many):
            return server.asked[path] >= many

        await until(asked)
        if path == "/flaky":
            await asyncio.sleep(0.5)  # until it pauses; dying before that is right as well
        worker.send(signal.SIGKILL)
        assert -signal.SIGKILL == await asyncio.to_thread(worker.ends)
        worker = fleet.start("worker")

    assert 0 == await asyncio.to_thread(submit.process.wait, 200), submit.log.read_text()
    result = json.loads(submit.log.with_suffix(".out").read_text())
    expected = {"heard": list(range(BEATS)), "calls": BELOW}
    assert ("completed", expected) == (result["status"], result["output"])
    # Once each; once more for every death that found it under way, with the same key.
    once = {"/loop": LOOP, "/fork": 2 * BRANCH, "/flaky": 3, "/heard": BEATS, "/below": BELOW}
    # Of the attempts that fail, the first may have been under way: then the second is it again.
    assert sum(once.values()) - 1 <= len(server.keys) <= sum(once.values())
    for path, many in once.items():
        assert many <= server.asked[path] <= many + 2 * len(deaths), path
    assert max(server.keys.values()) <= 1 + len(deaths)
