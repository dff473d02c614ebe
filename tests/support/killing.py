"""A drill: kill -9 a running workflow, resume it, and compare with a run that was left in peace.

The workflow has a thousand items in a nested split, each with an HTTP request and a merge of its
own, a wait for each outer item, and a merge at the end. The server counts what it is asked for,
by Idempotency-Key.
"""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from support.documents import TRIGGER, node, transform, workflow

OUTER, INNER = 20, 50
ITEMS = OUTER * INNER
ONWARD = Path(sys.executable).with_name("onward")
RUN = "drill"
PATIENCE_S = 120.0


def document(url: str) -> dict[str, Any]:
    """Return the workflow: every activity goes to `url`."""
    return workflow(
        TRIGGER,
        transform("rows", f"[range({OUTER})]"),
        node("outer", "split", input_array="$rows", max_concurrency=6),
        transform("columns", f"$item as $row | [range({INNER}) | [$row, .]]"),
        node("inner", "split", input_array="$columns"),
        node("ask", "http", method="POST", url=url, body={"item": "$item"}),
        transform("local", "$item | add"),
        node("pair", "merge"),
        node("row", "aggregator", collect="[$ask.body.echo.item, $local]"),
        node("pause", "wait", amount=0.05),
        node("table", "aggregator", collect="$row"),
        node("aside", "http", method="POST", url=url, body="aside"),
        node("end", "merge"),
        transform("result", "{table: $table, aside: $aside.body.echo}"),
        "start -> rows -> outer -> columns -> inner",
        "inner -> ask -> pair",
        "inner -> local -> pair",
        "pair -> row -> pause -> table -> end",
        "start -> aside -> end",
        "end -> result",
        workflow_id="drill",
    )


EXPECTED = {
    "table": [[[[row, i], row + i] for i in range(INNER)] for row in range(OUTER)],
    "aside": "aside",
}

VISITS = {
    **dict.fromkeys(("start", "rows", "outer", "table", "aside", "end", "result"), 1),
    **dict.fromkeys(("columns", "inner", "row"), OUTER),
    "pause": 2 * OUTER,  # once when it begins to wait, once when it is over
    **dict.fromkeys(("ask", "local", "pair"), ITEMS),
}


class CountingServer:
    """An HTTP server in a thread that echoes what it is sent and counts it by key."""

    def __init__(self) -> None:
        self.keys: Counter[str] = Counter()
        server = _Quiet(("127.0.0.1", 0), self._handler())
        self._server = server
        self.url = f"http://127.0.0.1:{server.server_address[1]}/"
        self._thread = threading.Thread(target=server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        keys = self.keys

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                keys[self.headers["idempotency-key"]] += 1
                text = body.decode()
                is_json = self.headers["content-type"].startswith("application/json")
                answer = json.dumps({"echo": json.loads(text) if is_json else text}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """A client that was killed in the middle of a request is the point of the drill."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a drill came to."""

    status: str
    output: Any
    keys: frozenset[str]
    requests: int
    most: int
    """How often the key that came most often came."""
    visits: dict[str, int]
    twice: int
    """How many (execution, token, node) are recorded more than once."""
    kills: tuple[int, ...]
    """How many requests had come when each kill struck."""
    seconds: float


def drill(folder: Path, seed: int, kills: int) -> Report:
    """Run the workflow, killing it `kills` times at moments drawn from `seed`."""
    chance = random.Random(seed)
    server = CountingServer()
    began = time.perf_counter()
    try:
        file, database = folder / "drill.json", folder / "onward.db"
        file.write_text(json.dumps(document(server.url)))
        run: list[str | Path] = [ONWARD, "run", file, "--db", database, "--id", RUN, "--json"]
        resume: list[str | Path] = [ONWARD, "continue", "--db", database, "--json"]
        struck = []
        for moment in sorted(chance.randrange(ITEMS) for _ in range(kills)):
            command = resume if _accepted(database) else run
            struck.append(_kill(command, server, moment, chance.random() / 20))
        command = resume if _accepted(database) else run
        ended = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, check=False)
        return _report(ended, database, server, tuple(struck), time.perf_counter() - began)
    finally:
        server.close()


def _kill(command: list[str | Path], server: CountingServer, moment: int, delay_s: float) -> int:
    """Start a process and kill it once the server has seen `moment` requests; then say how many."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        give_up = time.monotonic() + PATIENCE_S
        while server.keys.total() < moment and process.poll() is None:
            if time.monotonic() > give_up:
                raise TimeoutError(f"stuck after {server.keys.total()} requests")
            time.sleep(0.002)
        time.sleep(delay_s)
        process.kill()
    return server.keys.total()


def _accepted(database: Path) -> bool:
    """Return whether the run is in the file and unfinished: then it must be resumed."""
    if not database.exists():
        return False
    with closing(sqlite3.connect(database)) as db:
        try:
            found = db.execute("SELECT status FROM execution WHERE execution_id = ?", (RUN,))
            return found.fetchone() is not None
        except sqlite3.OperationalError:
            return False  # killed before the tables were made


def _report(
    ended: subprocess.CompletedProcess[bytes],
    database: Path,
    server: CountingServer,
    struck: tuple[int, ...],
    seconds: float,
) -> Report:
    result = json.loads(ended.stdout) if ended.stdout.strip() else {}
    with closing(sqlite3.connect(database)) as db:
        visits = dict(db.execute("SELECT node_id, count(*) FROM node_run GROUP BY node_id"))
        (twice,) = db.execute(
            "SELECT count(*) FROM (SELECT 1 FROM node_run"
            " GROUP BY execution_id, token_id, node_id HAVING count(*) > 1)"
        ).fetchone()
        (status,) = db.execute("SELECT status FROM execution").fetchone()
    return Report(
        status=status,
        output=result.get("output") if isinstance(result, dict) else None,
        keys=frozenset(server.keys),
        requests=server.keys.total(),
        most=max(server.keys.values(), default=0),
        visits=visits,
        twice=twice,
        kills=struck,
        seconds=seconds,
    )


def problems(report: Report) -> list[str]:
    """Return everything that a drill, however often it was killed, must not come to."""
    found = {
        f"it ended as {report.status}": report.status != "completed",
        "its result is wrong": report.output != EXPECTED,
        f"{report.twice} visits are recorded twice": report.twice != 0,
        f"its visits are {report.visits}": report.visits != VISITS,
        f"{len(report.keys)} idempotency keys came": len(report.keys) != ITEMS + 1,
        f"a key came {report.most} times": report.most > len(report.kills) + 1,
    }
    return [text for text, wrong in found.items() if wrong]
