"""Which modules a piece of work passes through: a walk, traced.

    python -m benchmarks.walks run          `onward run` of three nodes, in this process
    python -m benchmarks.walks serverless   a Serverless Workflow call, embedded
    python -m benchmarks.walks post         POST /runs until `run.ended` arrives, on a warm server
    python -m benchmarks.walks worker       one run with an http node on a warm worker; it needs the
                                            URLs of a cluster in ONWARD_*_URL

Counts the distinct modules of the package, the calls into them, how often a call is in another
module than the one before, and how often in another top folder. `--list` prints the modules in the
order in which they are first entered.
"""

from __future__ import annotations

import argparse
import http.server
import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from itertools import pairwise
from pathlib import Path
from typing import Any

PACKAGE = "onward"

HELLO = """
id: hello
nodes:
  - {id: start, type: manual_trigger}
  - {id: greet, type: transform, parameters: {expression: '{text: ("Hello, " + $trigger.name)}'}}
  - {id: say, type: log, parameters: {message: "$greet.text"}}
edges:
  - {id: e1, src: start, dst: greet}
  - {id: e2, src: greet, dst: say}
"""

CALL = """
document: {{dsl: 1.0.0, namespace: demo, name: call, version: 1.0.0}}
do:
  - fetch: {{call: http, with: {{method: get, endpoint: "{url}"}}}}
"""

FETCH = """
id: fetch
nodes:
  - {{id: start, type: manual_trigger}}
  - {{id: get, type: http, parameters: {{url: "{url}"}}}}
edges:
  - {{id: e1, src: start, dst: get}}
"""


class Walk:
    """Collects the modules of the package in the order of calls, in every thread."""

    def __init__(self) -> None:
        self.modules: list[str] = []
        self._importing = 0

    def __enter__(self) -> Walk:
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]

    def clear(self) -> None:
        self.modules.clear()

    def _called(self, frame: Any, event: str, _: object) -> None:
        if frame.f_code.co_name == "<module>":  # what importing a module calls is no part of it
            self._importing += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not self._importing:
            name = frame.f_globals.get("__name__", "")
            if name.startswith(PACKAGE + "."):
                self.modules.append(name[len(PACKAGE) + 1 :])

    def summary(self) -> dict[str, int]:
        steps = self.modules
        pairs = list(pairwise(steps))
        folders = [(here.split(".")[0], there.split(".")[0]) for here, there in pairs]
        return {
            "modules": len(set(steps)),
            "calls": len(steps),
            "changes of module": sum(here != there for here, there in pairs),
            "changes of top folder": sum(here != there for here, there in folders),
            "runtime modules": len({step for step in steps if step.startswith("runtime.")}),
        }


def run_command(arguments: list[str]) -> None:
    """Run the command line in this process."""
    from importlib import import_module

    main = import_module(f"{PACKAGE}.cli.main").main
    before = sys.argv
    sys.argv = [PACKAGE, *arguments]
    try:
        main()
    except SystemExit:
        pass
    finally:
        sys.argv = before


class Server(threading.Thread):
    """A web server on loopback that answers everything with an object."""

    def __init__(self) -> None:
        super().__init__(daemon=True)

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = b'{"ok": true}'
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.start()

    def run(self) -> None:
        self.server.serve_forever()


def walk_run(folder: Path) -> Walk:
    (folder / "hello.yaml").write_text(HELLO)
    with Walk() as walk:
        run_command(
            [
                "run",
                str(folder / "hello.yaml"),
                "-i",
                "name=Ada",
                "--db",
                str(folder / "w.db"),
                "--json",
            ]
        )
    return walk


def walk_serverless(folder: Path) -> Walk:
    (folder / "call.yaml").write_text(CALL.format(url=Server().url))
    with Walk() as walk:
        run_command(["run", str(folder / "call.yaml"), "--db", str(folder / "w.db"), "--json"])
    return walk


def _post(url: str, body: Any) -> Any:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def _start_and_follow(base: str, source: str) -> None:
    run = _post(f"{base}/api/v1/runs", {"definition": source, "input": {"name": "Ada"}})
    found = run.get("execution_id") or run.get("run_id") or run.get("id")
    with urllib.request.urlopen(f"{base}/api/v1/runs/{found}/events/stream") as stream:
        for line in stream:
            if b"run.ended" in line:
                return


def walk_post(folder: Path) -> Walk:
    port = 8797
    walk = Walk()
    problem: list[BaseException] = []

    def ask() -> None:
        base = f"http://127.0.0.1:{port}"
        try:
            for _ in range(100):
                try:
                    urllib.request.urlopen(f"{base}/livez").close()
                    break
                except OSError:
                    time.sleep(0.1)
            for _ in range(3):
                _start_and_follow(base, HELLO)
            time.sleep(0.5)
            walk.clear()
            _start_and_follow(base, HELLO)
        except BaseException as found:  # shown by the caller
            problem.append(found)
        steps = list(walk.modules)
        walk.modules = steps
        import _thread

        _thread.interrupt_main()

    with walk:
        thread = threading.Thread(target=ask)
        threading.setprofile(None)  # type: ignore[arg-type]
        thread.start()
        threading.setprofile(walk._called)
        run_command(["dev", "--db", str(folder / "w.db"), "--listen", f"127.0.0.1:{port}"])
    if problem:
        raise problem[0]
    return walk


def walk_worker(folder: Path) -> Walk:
    (folder / "fetch.yaml").write_text(FETCH.format(url=Server().url))
    walk = Walk()
    submit = [sys.executable, "-m", f"{PACKAGE}.cli.main", "submit", str(folder / "fetch.yaml")]

    def ask() -> None:
        import _thread

        for _ in range(3):
            subprocess.run([*submit, "--wait"], check=False, capture_output=True, timeout=60)
        time.sleep(1)
        walk.clear()
        subprocess.run([*submit, "--wait"], check=False, capture_output=True, timeout=60)
        walk.modules = list(walk.modules)
        _thread.interrupt_main()

    master = subprocess.Popen([sys.executable, "-m", f"{PACKAGE}.cli.main", "master"])
    try:
        with walk:
            thread = threading.Thread(target=ask)
            threading.setprofile(None)  # type: ignore[arg-type]
            thread.start()
            threading.setprofile(walk._called)
            run_command(["worker"])
    finally:
        master.terminate()
        master.wait()
    return walk


WALKS = {
    "run": walk_run,
    "serverless": walk_serverless,
    "post": walk_post,
    "worker": walk_worker,
}


def main() -> None:
    """Trace one walk and print what it passed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("walk", choices=WALKS)
    parser.add_argument("--list", action="store_true", help="print the modules in order")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        walk = WALKS[arguments.walk](Path(folder))
    if arguments.list:
        print("\n".join(dict.fromkeys(walk.modules)))
    print(json.dumps(walk.summary()))


if __name__ == "__main__":
    main()
