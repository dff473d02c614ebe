"""What commands must not import: the libraries that would make every call slow.

Times depend on the machine; which modules were loaded does not. `benchmarks/startup.py` measures.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Done

HEAVY = {
    "aiosmtplib",
    "argon2",
    "cryptography",
    "fastapi",
    "httpx2",
    "jsonschema_rs",
    "onward.languages.serverless.model",
    "onward.nodes.serverless",
    "opentelemetry",
    "pika",
    "prometheus_client",
    "pydantic",
    "redis",
    "rich",
}
NO_LOOP = HEAVY | {"asyncio", "uvloop", "sqlite3", "email"}
NO_ENGINE = NO_LOOP | {"msgspec", "ruamel", "re2", "purejq", "onward.kernel", "onward.languages"}

HELLO = """\
id: hello
nodes:
  - {id: start, type: manual_trigger}
  - {id: greet, type: transform, parameters: {expression: '"Hello, " + $trigger.name'}}
edges:
  - {src: start, dst: greet}
"""
COMMANDS = {
    "--version": NO_ENGINE,
    "--help": NO_ENGINE,
    "runs --help": NO_ENGINE,
    "worker --help": HEAVY,
    "completion bash": NO_ENGINE,
    "nodes": NO_LOOP,
    "validate hello.yaml": NO_LOOP,
    "graph hello.yaml": HEAVY,
    "expr 1": HEAVY | {"sqlite3", "uvloop"},
    "messages schema": NO_LOOP,
    "run hello.yaml -i name=Ada": HEAVY,
    "continue": HEAVY,
    "runs ls": HEAVY,
}
PROGRAM = """
import sys
from onward.cli.main import main
try:
    main()
finally:
    sys.stderr.write("\\n" + "\\n".join(sys.modules))
"""


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_imports_only_what_it_needs(here: Path, words: str):
    (here / "hello.yaml").write_text(HELLO)
    if words == "runs ls":
        _run("run hello.yaml -i name=Ada")

    finished = _run(words)

    assert 0 == finished.code, finished.err
    loaded = set(finished.err.splitlines())
    assert set() == COMMANDS[words] & loaded


def _run(words: str) -> Done:
    """Run a command; its errors end with the names of the modules that it has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words.split()],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)
