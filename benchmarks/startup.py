"""CPU seconds (user and system) that commands take from start to exit, with and without a cache.

    python -m benchmarks.startup [--runs N]

`warm` is the best of N runs with compiled bytecode, which an installed wheel always has; `cold` is
one run that compiles everything. CPU time, not wall time: it hardly depends on what else the
machine does. The goals are those of a command that a shell script calls in a loop.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ONWARD = Path(sys.executable).with_name("onward")
HELLO = """\
id: hello
nodes:
  - {id: start, type: manual_trigger}
  - {id: greet, type: transform, parameters: {expression: '{text: ("Hello, " + $trigger.name)}'}}
  - {id: say, type: log, parameters: {message: $greet.text}}
edges:
  - {src: start, dst: greet}
  - {src: greet, dst: say}
"""
GOALS_S = {
    ("--version",): 0.08,
    ("--help",): 0.08,
    ("run", "hello.yaml", "-i", "name=Ada"): 0.3,
    ("validate", "hello.yaml"): 0.2,
    ("nodes",): 0.2,
    ("expr", "{{ 1 + 1 }}"): 0.2,
    ("runs", "ls"): 0.2,
}
"""`run` comes before `runs ls`, which needs a database."""


def cpu_s(command: tuple[str, ...], directory: Path, cache: Path) -> float:
    """Return the CPU seconds of one command."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ONWARD_", "PYTHON"))
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [ONWARD, *command],
        cwd=directory,
        env={**environment, "PYTHONPYCACHEPREFIX": str(cache)},
        capture_output=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a line for each command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=5, help="how often each command runs")
    runs = parser.parse_args().runs
    print(f"{'command':36} {'cold s':>8} {'warm s':>8} {'goal s':>8}")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "hello.yaml").write_text(HELLO)
        for command, goal_s in GOALS_S.items():
            cache = Path(tempfile.mkdtemp(dir=directory))
            cold_s = cpu_s(command, directory, cache)
            warm_s = min(cpu_s(command, directory, cache) for _ in range(runs))
            mark = "" if warm_s <= goal_s else "  missed"
            words = " ".join(("onward", *command))
            print(f"{words:36} {cold_s:8.3f} {warm_s:8.3f} {goal_s:8.2f}{mark}")


if __name__ == "__main__":
    main()
