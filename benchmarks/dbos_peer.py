"""The same work on DBOS Transact with SQLite, as its documentation recommends.

    W1  `DBOS.start_workflow` for every run (the workflows share its thread pool), ten steps each
    W2  one workflow that calls a step for every item; and, on fewer items because it is slower, one
        that enqueues a child workflow for every item on a queue and waits for them all
    W4  one workflow of three steps at a time

It needs `dbos` and nothing of onward, so that it can run in an environment of its own:
`embedded.py` starts it. Prints one JSON object, with the durability settings that DBOS chose for
its database.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

QUEUE = "items"


class Peer:
    """DBOS on a new SQLite file, with the workflows registered."""

    def __init__(self, folder: Path) -> None:
        self.dbos: Any = import_module("dbos").DBOS
        dbos = self.dbos
        step = dbos.step()(add)

        def chain(value: int, length: int) -> int:
            for _ in range(length):
                value = step(value)
            return value

        def fan(count: int) -> list[int]:
            return [step(value) for value in range(count)]

        def child(value: int) -> int:
            return int(step(value))

        def queued(count: int) -> list[int]:
            queue = dbos.retrieve_queue(QUEUE)
            handles = [queue.enqueue(self.child, value) for value in range(count)]
            return [handle.get_result() for handle in handles]

        self.chain = dbos.workflow()(chain)
        self.fan = dbos.workflow()(fan)
        self.child = dbos.workflow()(child)
        self.queued = dbos.workflow()(queued)
        dbos(
            config={
                "name": "benchmark",
                "system_database_url": f"sqlite:///{folder / 'dbos.db'}",
                "log_level": "ERROR",
                "run_admin_server": False,
            }
        )
        dbos.launch()
        dbos.register_queue(QUEUE)

    def durability(self) -> str:
        """Return the pragmas that DBOS's own connections run with."""
        instance = import_module("dbos._dbos")._get_dbos_instance()
        with instance._sys_db.engine.connect() as connection:
            synchronous = connection.exec_driver_sql("PRAGMA synchronous").scalar()
            mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
        name = {0: "OFF", 1: "NORMAL", 2: "FULL", 3: "EXTRA"}[synchronous]
        return f"journal_mode={mode.upper()}, synchronous={name}"

    def chains(self, runs: int, length: int = 10) -> float:
        """W1: return steps per second."""
        began = time.perf_counter()
        handles = [self.dbos.start_workflow(self.chain, number, length) for number in range(runs)]
        values = [handle.get_result() for handle in handles]
        seconds = time.perf_counter() - began
        check(values, [number + length for number in range(runs)])
        return runs * length / seconds

    def items(self, workflow: Any, count: int) -> float:
        """W2: return items per second."""
        began = time.perf_counter()
        values = workflow(count)
        seconds = time.perf_counter() - began
        check(values, list(range(1, count + 1)))
        return count / seconds

    def latencies(self, runs: int, length: int = 3) -> list[float]:
        """W4: return the milliseconds of each run."""
        taken: list[float] = []
        for number in range(runs):
            began = time.perf_counter()
            check([self.chain(number, length)], [number + length])
            taken.append(1000 * (time.perf_counter() - began))
        return taken


def add(value: int) -> int:
    """The trivial step."""
    return value + 1


def check(values: list[int], expected: list[int]) -> None:
    """Refuse to report the speed of a wrong answer."""
    if values != expected:
        raise RuntimeError("the peer came to the wrong values")


def main(arguments: list[str]) -> None:
    """Measure once and print the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--queued-items", type=int, default=50)
    parser.add_argument("--short-runs", type=int, default=50)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="dbos-bench-") as place:
        peer = Peer(Path(place))
        result = {
            "version": metadata.version("dbos"),
            "durability": peer.durability(),
            "w1": peer.chains(given.runs),
            "w2": peer.items(peer.fan, given.items),
            "w2_queued": peer.items(peer.queued, given.queued_items),
            "w4": peer.latencies(given.short_runs),
        }
        peer.dbos.destroy()
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
