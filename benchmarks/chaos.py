"""Faults on a real cluster, under a steady load: nothing may be lost, doubled or stuck.

Starts private RabbitMQ, Redis and PostgreSQL servers and real `weft` processes, starts runs all the
time, and meanwhile kills workers, schedulers and masters, freezes them, restarts the broker and
kills Redis and PostgreSQL. When the faults end, every run must end like an undisturbed one, each
visit recorded once, no key and no message left behind.

    python benchmarks/chaos.py --seconds 120 --seed 1

Redis runs with `appendfsync always`: what it acknowledged survives its death, as the promise needs.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from services.process import free_port, listening, program, room  # noqa: E402
from services.rabbitmq import start_rabbitmq  # noqa: E402
from weft.bootstrap import compile_source  # noqa: E402
from weft.bootstrap.distributed import Cluster, ClusterSettings, open_cluster  # noqa: E402
from weft.languages.graph.document import parse_definition  # noqa: E402
from weft.simulation.checking import plain  # noqa: E402

SETTLE_S = 240
FAULTS = {
    "kill worker": 12,
    "kill other": 4,
    "freeze worker": 3,
    "kill redis": 1,
    "kill postgres": 1,
    "restart broker": 1,
}
"""What goes wrong, and how often beside the others."""


def node(name: str, kind: str, **parameters: Any) -> dict[str, Any]:
    """Return one node of a document."""
    return {"id": name, "type": kind, "parameters": parameters}


def document(name: str, nodes: list[dict[str, Any]], edges: list[str]) -> dict[str, Any]:
    """Return a document; an edge is written `a b`."""
    pairs = [edge.split() for edge in edges]
    return {
        "id": name,
        "nodes": nodes,
        "edges": [{"id": f"e{i}", "src": a, "dst": b} for i, (a, b) in enumerate(pairs)],
    }


START = node("start", "manual_trigger")
NOT_YET = 'if $execution.attempt < 3 then error("not yet") else {n: $trigger.n} end'
RETRIED = node("flaky", "transform", expression=NOT_YET)
RETRIED["retry"] = {"max_attempts": 4, "delay": 0.2, "backoff": "constant"}

WORKFLOWS = [
    document(
        "chain",
        [START, *(node(f"n{i}", "transform", expression="$trigger.n + 1") for i in range(8))],
        ["start n0", *(f"n{i} n{i + 1}" for i in range(7))],
    ),
    document(
        "nested",
        [
            START,
            node("outer", "split", input_array=[1, 2, 3, 4], max_concurrency=2),
            node("inner", "split", input_array="{{ [range($item)] }}"),
            node("square", "transform", expression="$item * $item"),
            node("sum", "aggregator"),
            node("all", "aggregator", collect="$sum | add"),
            node("done", "transform", expression="$all | add"),
        ],
        ["start outer", "outer inner", "inner square", "square sum", "sum all", "all done"],
    ),
    document(
        "merging",
        [
            START,
            node("pause", "wait", amount=1, unit="seconds"),
            node("left", "transform", expression="1"),
            RETRIED,
            node("both", "merge"),
            node("end", "transform", expression="$both | length"),
        ],
        [
            "start pause",
            "start left",
            "start flaky",
            "pause both",
            "left both",
            "flaky both",
            "both end",
        ],
    ),
]


class Processes:
    """The weft processes under test; one that dies is replaced."""

    def __init__(self, settings: ClusterSettings, folder: Path) -> None:
        self._environment = {
            **os.environ,
            "WEFT_RABBITMQ_URL": settings.rabbitmq_url,
            "WEFT_REDIS_URL": settings.redis_url,
            "WEFT_POSTGRES_URL": settings.postgres_url,
            "WEFT_GIVE_UP": "600",
        }
        self._log = (folder / "processes.log").open("ab")
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        """Start `worker-1`, `scheduler-2` and so on."""
        command = [str(Path(sys.executable).with_name("weft")), name.partition("-")[0]]
        self.running[name] = subprocess.Popen(
            command, env=self._environment, stdout=self._log, stderr=self._log
        )

    def kill(self, name: str) -> None:
        """Kill -9, and start another."""
        process = self.running[name]
        process.kill()
        process.wait()
        self.start(name)

    def stop(self) -> None:
        """End everything."""
        for process in self.running.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        self._log.close()


class RedisServer:
    """A Redis that can be killed and started again on the same data."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start, and wait until it answers."""
        command = [
            "redis-server",
            "--port",
            str(self.port),
            "--dir",
            str(self._folder),
            "--save",
            "",
        ]
        command += ["--bind", "127.0.0.1", "--appendonly", "yes", "--appendfsync", "always"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while not listening(self.port):
            time.sleep(0.05)

    def restart(self) -> None:
        """Kill -9 and start again."""
        self.end()
        self.start()

    def end(self) -> None:
        """Kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class PostgresServer:
    """A PostgreSQL that can be killed and started again on the same data."""

    def __init__(self) -> None:
        self.port = free_port()
        self._folder = room("chaos-pg", "postgres")
        self._run("initdb", "-D", f"{self._folder}/data", "-A", "trust")
        self.start()

    def start(self) -> None:
        """Start, and wait until it answers."""
        options = f"-p {self.port} -k {self._folder} -c listen_addresses=127.0.0.1"
        log = f"{self._folder}/log"
        self._run("pg_ctl", "-D", f"{self._folder}/data", "-o", options, "-l", log, "-w", "start")

    def restart(self) -> None:
        """Stop it at once, as a crash would, and start again."""
        self.end()
        self.start()

    def end(self) -> None:
        """Stop it at once: it recovers from its log when it is started again."""
        self._run("pg_ctl", "-D", f"{self._folder}/data", "-m", "immediate", "-w", "stop")

    def new_database(self) -> str:
        """Make a database and return its URL."""
        self._run("createdb", "-h", str(self._folder), "-p", str(self.port), "weft")
        return f"postgresql://postgres@127.0.0.1:{self.port}/weft"

    def _run(self, name: str, *words: str) -> None:
        found = program(name, *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"))))
        command = ["runuser", "-u", "postgres", "--", str(found), *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def outcome(completion: bytes) -> tuple[str, Any]:
    """Return how a run ended, without its times."""
    said = msgspec.json.decode(completion)
    return said["status"], plain(said["final_context"])


async def ended(cluster: Cluster, run: str) -> tuple[str, Any] | None:
    """Return how a run ended, or None if it has not."""
    execution = await cluster.store.execution(run)
    return outcome(execution.completion) if execution and execution.completion else None


async def chaos(args: argparse.Namespace, folder: Path) -> int:
    """Run the whole thing; the number of broken promises is the exit code."""
    dice = random.Random(args.seed)
    broker, kept_broker = await asyncio.to_thread(start_rabbitmq)
    postgres = PostgresServer()
    redis = RedisServer(folder)
    settings = ClusterSettings(
        rabbitmq_url=broker.new_host(),
        redis_url=f"redis://127.0.0.1:{redis.port}/0",
        postgres_url=postgres.new_database(),
    )
    processes = Processes(settings, folder)
    names = [*(f"worker-{n}" for n in range(args.workers)), "scheduler-1", "scheduler-2"]
    names += ["master-1", "master-2"]
    for name in names:
        processes.start(name)
    faults: Counter[str] = Counter()
    try:
        async with open_cluster(settings) as cluster:
            programs = [compile_source(parse_definition(one).source) for one in WORKFLOWS]
            expected = await in_peace(cluster, programs)
            servers = (redis, postgres, broker)
            runs = await under_faults(args, cluster, programs, processes, servers, dice, faults)
            problems, took_s = await settle(cluster, runs, expected)
            problems += await leftovers(cluster, broker, settings, set(runs))
    finally:
        processes.stop()
        redis.end()
        kept_broker.end()
        postgres.end()
    print(f"{len(runs)} runs, all over {took_s:.0f} s after the last fault")
    for name, count in sorted(faults.items()):
        print(f"  {count:4d}  {name}")
    for problem in problems[:20]:
        print(f"BROKEN: {problem}")
    print(f"{len(problems)} promises broken")
    return 1 if problems else 0


async def in_peace(cluster: Cluster, programs: list[Any]) -> dict[str, tuple[str, Any]]:
    """Return how each workflow ends when nothing goes wrong."""
    expected = {}
    for one in programs:
        run = await cluster.starter().start(one, one.document.source, {"n": 1})
        while (found := await ended(cluster, run)) is None:
            await asyncio.sleep(0.05)
        expected[one.workflow_id] = found
    return expected


async def under_faults(
    args: argparse.Namespace,
    cluster: Cluster,
    programs: list[Any],
    processes: Processes,
    servers: tuple[RedisServer, PostgresServer, Any],
    dice: random.Random,
    faults: Counter[str],
) -> dict[str, str]:
    """Start runs all the time while things break; return the runs and their workflows."""
    redis, postgres, broker = servers
    runs: dict[str, str] = {}
    until = time.monotonic() + args.seconds
    next_fault = time.monotonic() + 1

    async def load() -> None:
        while time.monotonic() < until:
            one = dice.choice(programs)
            try:
                run = await cluster.starter().start(one, one.document.source, {"n": 1})
            except Exception as problem:
                faults[f"a start was refused ({type(problem).__name__})"] += 1
                await asyncio.sleep(0.5)
                continue
            runs[run] = one.workflow_id
            await asyncio.sleep(1 / args.rate)

    loading = asyncio.create_task(load())
    while time.monotonic() < until:
        await asyncio.sleep(max(0, next_fault - time.monotonic()))
        next_fault = time.monotonic() + dice.uniform(0.3, 2.0)
        fault = dice.choices(list(FAULTS), list(FAULTS.values()))[0]
        faults[fault] += 1
        names = list(processes.running)
        workers = [name for name in names if name.startswith("worker")]
        if fault == "kill worker":
            processes.kill(dice.choice(workers))
        elif fault == "kill other":
            processes.kill(dice.choice([name for name in names if name not in workers]))
        elif fault == "freeze worker":
            process = processes.running[dice.choice(workers)]
            process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(2)
            process.send_signal(signal.SIGCONT)
        elif fault == "kill redis":
            await asyncio.to_thread(redis.restart)
        elif fault == "kill postgres":
            await asyncio.to_thread(postgres.restart)
        else:
            await asyncio.to_thread(broker.ctl, "stop_app")
            await asyncio.to_thread(broker.ctl, "start_app")
    await loading
    return runs


async def settle(
    cluster: Cluster, runs: dict[str, str], expected: dict[str, tuple[str, Any]]
) -> tuple[list[str], float]:
    """Wait until every run has ended; return what is wrong with them, and how long it took."""
    began = time.monotonic()
    problems: list[str] = []
    open_runs = set(runs)
    while open_runs and time.monotonic() < began + SETTLE_S:
        for run in list(open_runs):
            found = await ended(cluster, run)
            if found is not None:
                open_runs.discard(run)
                if found != expected[runs[run]]:
                    problems.append(f"{run} ({runs[run]}) ended {found}")
        await asyncio.sleep(0.5)
    problems += [f"{run} ({runs[run]}) is stuck" for run in sorted(open_runs)]
    for run in runs:
        visits = [(one.token_id, one.node_id) for one in await cluster.store.node_runs(run)]
        if len(visits) != len(set(visits)):
            problems.append(f"{run} recorded a visit twice")
    return problems, time.monotonic() - began


async def leftovers(
    cluster: Cluster, broker: Any, settings: ClusterSettings, runs: set[str]
) -> list[str]:
    """Return keys and messages that should be gone."""
    await asyncio.sleep(2)
    keys = [key.decode() async for key in cluster.redis.scan_iter("*")]
    problems = [f"key {key}" for key in keys if not key.endswith(":done")]
    host = settings.rabbitmq_url.rpartition("/")[2]
    for name in ("workflow.execution", "workflow.timeout.process", "workflow.quarantine"):
        found = broker.call("GET", f"/queues/{host}/{name}")
        if found.get("messages", 0):
            problems.append(f"{found['messages']} messages in {name}")
    return problems


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--rate", type=float, default=10, help="runs started per second")
    with tempfile.TemporaryDirectory() as name:
        sys.exit(asyncio.run(chaos(parser.parse_args(), Path(name))))
