"""onward as its users meet it: the installed command, in an empty directory."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from onward.cli.main import main

EXECUTABLE = Path(sys.executable).with_name("onward")
PATIENCE_S = 120
EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


Onward = Callable[..., Done]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory, and an environment that says nothing about onward."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("ONWARD_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.fixture
def onward(here: Path) -> Onward:
    """The command in a process of its own."""

    def run(*arguments: object, given: str | bytes = "", **environment: str) -> Done:
        done = subprocess.run(
            [EXECUTABLE, *map(str, arguments)],
            input=given.encode() if isinstance(given, str) else given,
            capture_output=True,
            timeout=60,
            check=False,
            env={**os.environ, **environment},
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def quick(here: Path, capfd: pytest.CaptureFixture[str]) -> Onward:
    """The command in this process: for the many ways to be wrong, which need no process."""

    def run(*arguments: object) -> Done:
        with pytest.raises(SystemExit) as ending:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Done(int(ending.value.code or 0), out, err)

    return run


@pytest.fixture
def document(here: Path) -> Callable[..., Path]:
    """Writes a workflow of the nodes and edges given, and returns its file."""

    def write(name: str, *nodes: dict[str, Any], edges: tuple[str, ...] = ()) -> Path:
        pairs = [edge.split(">") for edge in edges]
        value = {"nodes": list(nodes), "edges": [{"src": src, "dst": dst} for src, dst in pairs]}
        file = here / name
        file.write_bytes(msgspec.json.format(msgspec.json.encode(value)))
        return file

    return write


@contextmanager
def serving(database: Path) -> Iterator[str]:
    """Serve a file on a free port, in a process of its own."""
    process = subprocess.Popen(
        [EXECUTABLE, "dev", "--listen", "127.0.0.1:0", "--db", database],
        stderr=subprocess.PIPE,
        text=True,
        cwd=database.parent,
        env={name: value for name, value in os.environ.items() if not name.startswith("ONWARD_")},
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            found = re.search(r"http://\S+:\d+", line)
            if found:
                yield found[0]
                break
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)


@pytest.fixture
def server(here: Path) -> Iterator[str]:
    """A server of the same release, on a free port."""
    with serving(here / "server.db") as url:
        yield url


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server for all tests of a module: each uses names of its own."""
    with serving(tmp_path_factory.mktemp("shared") / "server.db") as url:
        yield url


@pytest.fixture
def served(shared: str, quick: Onward, monkeypatch: pytest.MonkeyPatch) -> Onward:
    """The command on the server that tests of a module share."""
    monkeypatch.setenv("ONWARD_SERVER", shared)
    return quick


@pytest.fixture(params=["file", "server"])
def ask(request: pytest.FixtureRequest, quick: Onward, monkeypatch: pytest.MonkeyPatch) -> Onward:
    """The command on a file, and on a server."""
    if request.param == "server":
        monkeypatch.setenv("ONWARD_SERVER", request.getfixturevalue("server"))
    return quick


def node(name: str, kind: str, **parameters: Any) -> dict[str, Any]:
    """A node of a document."""
    return {"id": name, "type": kind, "parameters": parameters}
