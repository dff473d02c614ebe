"""The Serverless Workflow DSL on the embedded engine: tasks per second as the state grows.

    python benchmarks/serverless.py
    python benchmarks/serverless.py --runs 50 --json

Every run carries a state of the size in the first column through its tasks.

    walked    100 `set` tasks that keep the state and count: one message for the whole run
    messages  20 `wait` tasks of no time, each of which goes on in a message of its own

The first is what control flow costs, the second what it costs to write a state down and read it
again. Each line is a new file; the figures are medians over the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from onward.bootstrap.embedded import open_engine
from onward.bootstrap.languages import AnyProgram, compile_source
from onward.bootstrap.settings import EmbeddedSettings

SIZES_KB = (1, 10, 50, 200)
WALKED, MESSAGES = 100, 20


def document(tasks: list[dict[str, Any]]) -> AnyProgram:
    """Return a compiled workflow."""
    head = {"dsl": "1.0.3", "namespace": "bench", "name": "tasks", "version": "1.0.0"}
    return compile_source(msgspec.json.encode({"document": head, "do": tasks}))


def walked() -> AnyProgram:
    """Return a chain that is walked in one message."""
    one = {"set": {"n": "${ .n + 1 }", "rows": "${ .rows }"}}
    return document([{f"t{index}": one} for index in range(WALKED)])


def in_messages() -> AnyProgram:
    """Return a chain of which every task is a message."""
    return document([{f"t{index}": {"wait": {"milliseconds": 0}}} for index in range(MESSAGES)])


def state(kilobytes: int) -> dict[str, Any]:
    """Return a state of about this size: rows such as a query gives."""
    row = {"id": 1000, "name": "somebody with a name", "tags": ["a", "b"], "price": 12.5}
    size = len(msgspec.json.encode(row)) + 1
    return {
        "n": 0,
        "rows": [row | {"id": 1000 + index} for index in range(kilobytes * 1024 // size)],
    }


async def measure(program: AnyProgram, given: dict[str, Any], runs: int, tasks: int) -> float:
    """Return how many tasks per second a file of its own comes to."""
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as folder:
        async with open_engine(EmbeddedSettings(database=Path(folder) / "onward.db")) as engine:
            began = time.perf_counter()
            source = program.document.source
            started = [await engine.start(program, source, given) for _ in range(runs)]
            for one in started:
                result = await engine.wait(one)
                if result.status != "completed":
                    raise SystemExit(f"a run ended as {result.status}")
            return runs * tasks / (time.perf_counter() - began)


def main(arguments: list[str]) -> int:
    """Measure, print the table, and return an exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    lines = []
    for size in SIZES_KB:
        rates = {
            name: statistics.median(
                asyncio.run(measure(make(), state(size), given.runs, tasks))
                for _ in range(given.rounds)
            )
            for name, make, tasks in (
                ("walked", walked, WALKED),
                ("messages", in_messages, MESSAGES),
            )
        }
        lines.append({"state_kb": size, **{name: round(rate) for name, rate in rates.items()}})
        print(f"{size} KB is done", file=sys.stderr)
    if given.json:
        print(json.dumps(lines))
        return 0
    print("| state | walked, tasks/s | messages, tasks/s | ms per message |")
    print("|---|---|---|---|")
    for line in lines:
        cost = 1000 / line["messages"]
        print(f"| {line['state_kb']} KB | {line['walked']:,} | {line['messages']:,} | {cost:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
