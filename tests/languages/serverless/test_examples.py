"""Every example runs as its own head says, offline, against stand-ins, and gives what it says."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import shlex
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from conformance.greeter import start_greeter
from onward.cli.main import main

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "examples" / "serverless"
FILES = sorted(FOLDER.glob("*.yaml"))
HERE = [file for file in FILES if file.stem != "grpc"]
"""Those that run in this process: a service of gRPC and its caller do not share one."""
EXECUTABLE = Path(sys.executable).with_name("onward")
DOCKER = """\
#!/bin/sh
# A container engine that knows one image: it runs the command here, with its environment.
[ "$1" = run ] || exit 0
while [ "$1" != alpine:3 ]; do shift; done
shift
set -a
. ./environment
exec "$@"
"""


def services() -> Any:
    """Return the stand-ins that people start by hand."""
    described = importlib.util.spec_from_file_location("services", FOLDER / "services.py")
    assert described is not None
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


@pytest.fixture
def port():
    """Return the port of the services."""
    server = services().serve(0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def here(tmp_path, monkeypatch, port):
    """A folder with the examples, a container engine, and an environment that says nothing."""
    shutil.copytree(FOLDER, tmp_path / "examples" / "serverless")
    for file in (tmp_path / "examples" / "serverless").glob("*.yaml"):
        file.write_text(file.read_text().replace("8642", str(port)))
    engine = tmp_path / "bin" / "docker"
    engine.parent.mkdir()
    engine.write_text(DOCKER)
    engine.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{engine.parent}:{Path(sys.executable).parent}:/usr/bin:/bin")
    return tmp_path


def head(file: Path) -> tuple[list[str], Any]:
    """Return the commands in the head of an example, and what the last one gives."""
    lines = []
    for line in file.read_text().splitlines():
        if not line.startswith("#"):
            break
        lines.append(line[1:].strip())
    commands = [line for line in lines if re.match(r"(ONWARD_\w+=\S.* )?onward ", line)]
    gives = lines[lines.index("which gives") + 1] if "which gives" in lines else "null"
    return commands, json.loads(gives)


def words_of(command: str, monkeypatch) -> list[str]:
    """Return the arguments of a command; what it sets in its environment is set."""
    words = shlex.split(command)
    while words[0] != "onward":
        name, _, value = words.pop(0).partition("=")
        monkeypatch.setenv(name, value)
    return [*words[1:], *(["--json"] if words[1] == "run" else [])]


@pytest.mark.parametrize("file", HERE, ids=[one.stem for one in HERE])
def test_an_example_gives_what_its_head_says(file, here, monkeypatch, capfd):
    commands, expected = head(here / "examples" / "serverless" / file.name)
    assert any(" run " in command for command in commands), "the head names no command that runs it"

    for command in commands:
        with pytest.raises(SystemExit) as ending:
            main(words_of(command, monkeypatch))
        out, err = capfd.readouterr()
        assert not ending.value.code, out + err

    result = json.loads(out)
    assert ("completed", expected) == (result["status"], result["output"])


async def test_the_example_of_grpc_gives_what_its_head_says(here, monkeypatch):
    server, port = await start_greeter()
    file = here / "examples" / "serverless" / "grpc.yaml"
    file.write_text(file.read_text().replace("8643", str(port)))
    (command,), expected = head(file)
    process = await asyncio.create_subprocess_exec(
        EXECUTABLE, *words_of(command, monkeypatch), stdout=asyncio.subprocess.PIPE
    )

    out, _ = await process.communicate()
    await server.stop(None)

    result = json.loads(out)
    assert ("completed", expected) == (result["status"], result["output"])


GROUPS = (
    *("http", "oauth2", "openapi", "container", "listen", "asyncapi", "grpc", "mcp"),
    *("script", "shell", "subflow", "catalog", "extension", "schedule"),
)


def test_there_is_an_example_of_every_group_of_the_specification():
    assert set() == set(GROUPS) - {file.stem for file in FILES}
