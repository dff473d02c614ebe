"""kill -9: real processes die in the middle of what a document does, and others go on.

A request may come once more for each process that died while it was under way, with the same
idempotency key, and never otherwise.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from languages.serverless.lab import HEAD, File, register
from onward.adapters.sql.workflows import TableWorkflows
from onward.adapters.sqlite.connection import SqliteDatabase
from onward.bootstrap.embedded import open_engine
from onward.bootstrap.settings import EmbeddedSettings

ONWARD = Path(sys.executable).with_name("onward")
PATIENCE_S = 120.0


class Server:
    """Counts the requests that come, by path and by idempotency key; some fail at first."""

    def __init__(self, failures: int) -> None:
        self.asked: Counter[str] = Counter()
        self.keys: Counter[str] = Counter()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.asked[self.path] += 1
                outer.keys[self.headers["idempotency-key"]] += 1
                bad = self.path == "/flaky" and outer.asked[self.path] <= failures
                body = json.dumps({"path": self.path}).encode()
                self.send_response(503 if bad else 200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # the drill
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server():
    one = Server(failures=2)
    yield one
    one.close()


def ask(url: str) -> dict[str, object]:
    return {"call": "http", "with": {"method": "post", "endpoint": url, "body": {"x": 1}}}


def killed_and_resumed(folder: Path, document: dict[str, object], ready) -> dict[str, object]:
    """Run a document, kill it each time `ready` says so (a number of times), and end it."""
    file, database = folder / "w.json", folder / "onward.db"
    file.write_text(json.dumps(document))
    first: list[str | Path] = [ONWARD, "run", file, "--db", database, "--id", "r", "--json"]
    again: list[str | Path] = [ONWARD, "continue", "r", "--db", database, "--json"]
    command = first
    for moment in ready:
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            give_up = time.monotonic() + PATIENCE_S
            while not moment() and process.poll() is None:
                assert time.monotonic() < give_up, "stuck"
                time.sleep(0.005)
            process.kill()
        command = again
    ended = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)
    result = json.loads(ended.stdout)
    return result[0] if isinstance(result, list) else result


def test_a_loop_that_is_killed_goes_on_with_the_item_it_was_at(tmp_path, server):
    document = {
        "document": HEAD,
        "do": [
            {
                "loop": {
                    "for": {"in": "[range(60)]"},
                    "do": [
                        {"ask": ask(f"{server.url}/item")},
                        {
                            "keep": {
                                "set": "${ (($context // 0) + $item) }",
                                "export": {"as": "."},
                            }
                        },
                    ],
                }
            }
        ],
    }
    moments = [lambda n=n: server.asked["/item"] >= n for n in (10, 30, 50)]

    result = killed_and_resumed(tmp_path, document, moments)

    assert ("completed", sum(range(60))) == (result["status"], result["output"])
    assert 60 == len(server.keys)
    assert 60 <= server.asked["/item"] <= 63


def test_a_fork_that_is_killed_goes_on_in_every_branch(tmp_path, server):
    def branch(name: str) -> dict[str, object]:
        calls = [{f"{name}{i}": ask(f"{server.url}/{name}")} for i in range(15)]
        return {name: {"do": [*calls, {f"{name}-last": {"set": {"who": name}}}]}}

    document = {
        "document": HEAD,
        "do": [{"all": {"fork": {"branches": [branch("a"), branch("b"), branch("c")]}}}],
    }
    moments = [lambda n=n: server.asked.total() >= n for n in (9, 25)]

    result = killed_and_resumed(tmp_path, document, moments)

    assert "completed" == result["status"]
    assert [{"who": "a"}, {"who": "b"}, {"who": "c"}] == result["output"]
    assert 45 == len(server.keys)
    assert max(server.keys.values()) <= 1 + len(moments)
    assert server.asked.total() <= 45 + 3 * len(moments)  # each of the branches asks one by one


def test_a_pause_between_attempts_outlives_its_process(tmp_path, server):
    retry = {"delay": {"milliseconds": 700}, "limit": {"attempt": {"count": 3}}}
    document = {
        "document": HEAD,
        "do": [{"t": {"try": [{"ask": ask(f"{server.url}/flaky")}], "catch": {"retry": retry}}}],
    }
    moments = [lambda n=n: server.asked["/flaky"] >= n for n in (1, 2)]

    result = killed_and_resumed(tmp_path, document, moments)

    assert ("completed", {"path": "/flaky"}) == (result["status"], result["output"])
    assert 3 <= server.asked["/flaky"] <= 3 + len(moments)


def test_a_listen_that_is_killed_hears_every_event_once(tmp_path, server):
    event = {"type": "beat", "data": "${ $item }"}
    telling = [
        {"ask-tell": ask(f"{server.url}/tell")},
        {"tell": {"emit": {"event": {"with": event}}}},
    ]
    hearing = {
        "listen": {"to": {"any": [{"with": {"type": "beat"}}], "until": "length == 20"}},
        "foreach": {
            "item": "beat",
            "do": [{"ask": ask(f"{server.url}/heard")}],
            "output": {"as": "$beat"},
        },
    }
    branches = [
        {"hear": hearing},
        {"each": {"for": {"in": "[range(20)]"}, "do": telling, "output": {"as": "null"}}},
    ]
    document = {"document": HEAD, "do": [{"both": {"fork": {"branches": branches}}}]}
    moments = [lambda n=n: server.asked["/heard"] >= n for n in (3, 9, 15)]

    result = killed_and_resumed(tmp_path, document, moments)

    assert ("completed", [list(range(20)), None]) == (result["status"], result["output"])
    assert 40 == len(server.keys)
    assert server.asked.total() <= 40 + 2 * len(moments)


def other(server: Server, calls: int) -> dict[str, object]:
    """Return a workflow that asks some times, and then tells how often."""
    asking = {"for": {"in": f"[range({calls})]"}, "do": [{"ask": ask(f"{server.url}/below")}]}
    below = {"each": asking}, {"last": {"set": {"calls": calls}}}
    return {"document": {**HEAD, "name": "other"}, "do": list(below)}


RUN_OTHER = {"run": {"workflow": {"namespace": "test", "name": "other", "version": "1.0.0"}}}


async def keep(database: Path, document: dict[str, object]) -> None:
    """Write a workflow where the runs of a database find it."""
    async with open_engine(EmbeddedSettings(database=database)):
        pass  # which makes the tables
    file: Any = File(database)
    await register(TableWorkflows(SqliteDatabase(file)), json.dumps(document))


def test_another_workflow_that_is_killed_with_the_run_that_waits_for_it_goes_on(tmp_path, server):
    asyncio.run(keep(tmp_path / "onward.db", other(server, 40)))
    document = {
        "document": HEAD,
        "do": [
            {"before": ask(f"{server.url}/before")},
            {"below": RUN_OTHER},
            {"after": {**ask(f"{server.url}/after"), "output": {"as": "$input"}}},
        ],
    }
    moments = [lambda n=n: server.asked["/below"] >= n for n in (1, 12, 30)]

    result = killed_and_resumed(tmp_path, document, moments)

    assert ("completed", {"calls": 40}) == (result["status"], result["output"])
    assert 42 == len(server.keys)
    assert server.asked.total() <= 42 + len(moments)
    assert 1 == server.asked["/after"]
