"""The work that both engines are measured on, as onward does it.

    W1  many runs of a chain of nodes
    W2  one run that splits an array, one trivial node for each item, and gathers the results
    W4  one short run on an engine that has nothing else to do, from its start to its end

Each exists with *control* nodes (`transform`: nothing outside is touched, so tokens need not reach
the disk one by one) and with *activities* (a node that touches the world: its token is committed
before it starts). Run as a script it does one measurement and prints one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec

from onward.adapters.sqlite.journal import SqliteJournal
from onward.bootstrap.catalogue import builtin
from onward.bootstrap.embedded import open_engine
from onward.bootstrap.languages import compile_source
from onward.bootstrap.settings import EmbeddedSettings
from onward.kernel.outcome import Succeeded
from onward.languages.graph.program import GraphProgram
from onward.ports.nodes.node import Catalogue, Tools
from onward.runtime.embedded.engine import EmbeddedEngine

Kind = Literal["control", "activity"]


class Add(msgspec.Struct, frozen=True):
    """Hand its value on: the least an activity can do."""

    value: Any

    async def run(self, tools: Tools) -> Succeeded:
        """Do nothing, successfully."""
        return Succeeded(self.value)


def catalogue() -> Catalogue:
    """Return onward's own node types and the trivial activity."""
    types = Catalogue()
    for one in builtin:
        types.register(
            one.name, effect=one.effect, expressions=one.expressions, credential=one.credential
        )(one.parameters)
    types.register("add")(Add)
    return types


CATALOGUE = catalogue()


def node(name: str, kind: Kind) -> dict[str, Any]:
    """Return a node that adds one to what comes in."""
    if kind == "control":
        return {"id": name, "type": "transform", "parameters": {"expression": ". + 1"}}
    return {"id": name, "type": "add", "parameters": {"value": "{{ . + 1 }}"}}


def chain(kind: Kind, length: int) -> GraphProgram:
    """Return a workflow of `length` nodes, one after the other."""
    names = [f"n{index}" for index in range(length)]
    return _compiled(
        {
            "id": "chain",
            "nodes": [node(name, kind) for name in names],
            "edges": [
                {"id": f"{src}-{dst}", "src": src, "dst": dst} for src, dst in pairwise(names)
            ],
        }
    )


def fan(body: dict[str, Any]) -> GraphProgram:
    """Return a workflow that does `body` once for each item of its input."""
    return _compiled(
        {
            "id": "fan",
            "nodes": [
                {"id": "each", "type": "split", "parameters": {"input_array": "$trigger"}},
                body,
                {"id": "all", "type": "aggregator"},
            ],
            "edges": [
                {"id": "in", "src": "each", "dst": body["id"]},
                {"id": "out", "src": body["id"], "dst": "all"},
            ],
        }
    )


def _compiled(document: dict[str, Any]) -> GraphProgram:
    return compile_source(json.dumps(document).encode(), CATALOGUE)


@asynccontextmanager
async def fresh_engine(folder: Path | None = None) -> AsyncIterator[EmbeddedEngine]:
    """Open an engine with everything at its default, on a new file."""
    with tempfile.TemporaryDirectory(prefix="onward-bench-", dir=folder) as place:
        settings = EmbeddedSettings(database=Path(place) / "onward.db")
        async with open_engine(settings, catalogue=CATALOGUE) as engine:
            yield engine


async def run_once(engine: EmbeddedEngine, program: GraphProgram, given: Any) -> dict[str, Any]:
    """Run a workflow to its end and return its final context."""
    run = await engine.start(program, program.document.source, given)
    ended = await engine.wait(run)
    if ended.status != "completed":
        raise RuntimeError(f"the run {ended.status}: {ended.error}")
    return engine.context_of(ended)


async def chains(kind: Kind, runs: int, length: int = 10) -> float:
    """W1: return nodes per second over `runs` runs that are all started at once."""
    program = chain(kind, length)
    async with fresh_engine() as engine:
        began = time.perf_counter()
        contexts = await asyncio.gather(
            *(run_once(engine, program, number) for number in range(runs))
        )
        seconds = time.perf_counter() - began
    expected = [number + length for number in range(runs)]
    if [context[f"$n{length - 1}"] for context in contexts] != expected:
        raise RuntimeError("a chain came to the wrong value")
    return runs * length / seconds


async def items(kind: Kind, count: int) -> float:
    """W2: return items per second of one split."""
    program = fan(node("work", kind))
    async with fresh_engine() as engine:
        began = time.perf_counter()
        context = await run_once(engine, program, list(range(count)))
        seconds = time.perf_counter() - began
    if context["$all"] != list(range(1, count + 1)):
        raise RuntimeError("the items came to the wrong list")
    return count / seconds


async def latencies(kind: Kind, runs: int, length: int = 3) -> list[float]:
    """W4: return the milliseconds from start to end of each of `runs` runs, one at a time."""
    program = chain(kind, length)
    taken: list[float] = []
    async with fresh_engine() as engine:
        for number in range(runs):
            began = time.perf_counter()
            await run_once(engine, program, number)
            taken.append(1000 * (time.perf_counter() - began))
    return taken


def durability() -> str:
    """Return the pragmas that the engine's own connection writes with."""
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as place:
        journal = SqliteJournal(Path(place) / "onward.db")
        (mode,) = journal._writer.execute("PRAGMA journal_mode").fetchone()
        (synchronous,) = journal._writer.execute("PRAGMA synchronous").fetchone()
        journal.close()
    name = {0: "OFF", 1: "NORMAL", 2: "FULL", 3: "EXTRA"}[synchronous]
    return f"journal_mode={mode.upper()}, synchronous={name}"


async def measure(kind: Kind, runs: int, count: int, short_runs: int) -> dict[str, Any]:
    """Return one measurement of each workload."""
    return {
        "durability": durability(),
        "w1": await chains(kind, runs),
        "w2": await items(kind, count),
        "w4": await latencies(kind, short_runs),
    }


def main(arguments: list[str]) -> None:
    """Measure once and print the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("control", "activity"))
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--short-runs", type=int, default=100)
    given = parser.parse_args(arguments)
    result = asyncio.run(measure(given.kind, given.runs, given.items, given.short_runs))
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
