"""The distributed engine beside Celery 5, on the same servers, in the same run, in turns.

    python benchmarks/compare.py                    # needs uv, which fetches Celery for itself
    python benchmarks/compare.py --json
    python benchmarks/compare.py --peer-python /somewhere/bin/python   # has celery[redis]
    python benchmarks/compare.py --no-peer

Starts a private RabbitMQ, Redis (with its append-only file) and PostgreSQL (durable), and measures
each engine with one worker process, a new one every time, warmed up:

    chain   many runs of ten nodes, all handed in while the worker stands still; the clock runs from
            its first message until the last result can be read
    split   one run of many items, one trivial node each, gathered again; handing in included

onward runs as in production: `onward worker`, `onward scheduler` and `onward master` are processes
of their own, every publish is confirmed, every node claimed, its history written to PostgreSQL; the
clock stops when the master has written the last ending. Celery is compared with `acks_late`, which
a task needs in order not to be lost, in the faster of its two pools, and in two ways: with the
result of every task in its backend, as it does by default and as onward keeps every node's output;
and with only the last result of a chain kept.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from onward.bootstrap.cluster import Cluster, ClusterSettings, open_cluster  # noqa: E402
from onward.bootstrap.languages import compile_source  # noqa: E402
from onward.languages.graph.program import GraphProgram  # noqa: E402
from services.postgres import new_database as new_postgres  # noqa: E402
from services.postgres import start_postgres  # noqa: E402
from services.rabbitmq import RabbitServer, start_rabbitmq  # noqa: E402
from services.redis import new_database as new_redis  # noqa: E402
from services.redis import start_redis  # noqa: E402

CELERY = "celery[redis]>=5.5,<6"
LENGTH = 10
WARM_UP = 30
PATIENCE_S = 300
LOOK_S = 0.02
TICKS = os.sysconf("SC_CLK_TCK")

FLAVOURS = {
    "Celery solo, acks late": ("solo", "late", "all", "0"),
    "Celery prefork 1, acks late": ("prefork", "late", "all", "0"),
    "Celery solo, acks late, confirms": ("solo", "late", "all", "1"),
    "Celery solo, acks late, last result": ("solo", "late", "last", "0"),
    "Celery prefork 1, late, last result": ("prefork", "late", "last", "0"),
    "Celery solo, acks early, last result": ("solo", "early", "last", "0"),
    "Celery as it comes: prefork 1": ("prefork", "early", "all", "0"),
}
"""What is measured of Celery: the pool, when a message is acknowledged, which results are kept, and
publisher confirms."""
RATIOS = {
    "as it comes (prefork, acks early, every result kept)": tuple(FLAVOURS)[6:],
    "acks late, every result kept, as onward keeps it": tuple(FLAVOURS)[:2],
    "acks late, only the last result kept": tuple(FLAVOURS)[3:5],
}
"""What onward is compared with: the faster of these."""

Sample = dict[str, float]


@dataclass(frozen=True)
class Servers:
    """The servers that both engines use."""

    rabbitmq: RabbitServer
    redis: str
    postgres: str


@dataclass
class Group:
    """Processes that are stopped, continued, measured and ended together."""

    processes: list[subprocess.Popen[Any]] = field(default_factory=list)

    def start(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        """Start one in a process group of its own."""
        with log.open("ab") as output:
            self.processes.append(
                subprocess.Popen(
                    command,
                    env={**os.environ, **environment},
                    cwd=HERE,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            )

    def send(self, number: signal.Signals) -> None:
        """Send a signal to each, and to what they have started."""
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)

    def end(self) -> None:
        """Kill them all."""
        self.send(signal.SIGKILL)
        for process in self.processes:
            process.wait()

    def cpu_s(self) -> float:
        """Return the CPU time they have used, with what they have started."""
        groups = {process.pid for process in self.processes}
        ticks = 0
        for place in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = place.read_text().rpartition(")")[2].split()
                if int(fields[2]) in groups:
                    ticks += int(fields[11]) + int(fields[12])
        return ticks / TICKS


class Onward:
    """One worker, scheduler and master of onward, and the driver's own connections."""

    def __init__(self, cluster: Cluster, worker: Group, others: Group) -> None:
        self.worker = worker
        self.others = others
        self._cluster = cluster

    async def hand_in(self, program: GraphProgram, inputs: list[Any]) -> list[str]:
        """Start a run for each input."""
        starter, source = self._cluster.starter(), program.document.source
        return list(await asyncio.gather(*(starter.start(program, source, one) for one in inputs)))

    async def wait(self, runs: list[str], node: str, expected: list[Any]) -> None:
        """Return when the master has written how every run ended; refuse wrong values."""
        until = time.monotonic() + PATIENCE_S
        while (running := await self._cluster.store.executions(status="running", limit=1)) != []:
            if time.monotonic() > until:
                raise SystemExit(f"{running[0].execution_id} did not end in {PATIENCE_S} s")
            await asyncio.sleep(LOOK_S)
        for run, value in zip((runs[0], runs[-1]), (expected[0], expected[-1]), strict=True):
            execution = await self._cluster.store.execution(run)
            context = json.loads((execution and execution.completion) or b"{}")["final_context"]
            if context.get(f"${node}") != value:
                raise SystemExit(f"onward came to {context}")

    async def chain(self, runs: int) -> Sample:
        """Measure the chain."""
        program = chain()
        expected = [number + LENGTH for number in range(runs)]
        self.worker.send(signal.SIGSTOP)
        started = await self.hand_in(program, list(range(runs)))
        used, beside = self.worker.cpu_s(), self.others.cpu_s()
        began = time.perf_counter()
        self.worker.send(signal.SIGCONT)
        await self.wait(started, f"n{LENGTH - 1}", expected)
        seconds = time.perf_counter() - began
        sample = rates(runs, seconds, self.worker.cpu_s() - used)
        return sample | {"beside_us": 1e6 * (self.others.cpu_s() - beside) / (runs * LENGTH)}

    async def split(self, items: int) -> float:
        """Measure the split: items per second."""
        began = time.perf_counter()
        runs = await self.hand_in(fan(), [list(range(items))])
        await self.wait(runs, "all", [list(range(1, items + 1))])
        return items / (time.perf_counter() - began)


@asynccontextmanager
async def open_onward(servers: Servers, slots: int, folder: Path) -> AsyncIterator[Onward]:
    """Start onward on places of its own, and warm it up."""
    settings = ClusterSettings(
        rabbitmq_url=servers.rabbitmq.new_host(),
        redis_url=new_redis(servers.redis),
        postgres_url=await asyncio.to_thread(new_postgres, servers.postgres),
    )
    environment = {
        "ONWARD_RABBITMQ_URL": settings.rabbitmq_url,
        "ONWARD_REDIS_URL": settings.redis_url,
        "ONWARD_POSTGRES_URL": settings.postgres_url,
    }
    program = str(Path(sys.executable).with_name("onward"))
    worker, others = Group(), Group()
    try:
        async with open_cluster(settings) as cluster:
            words = [program, "worker", "--processes", "1", "--slots", str(slots)]
            worker.start(words, environment, folder / "worker.log")
            for name in ("scheduler", "master"):
                others.start([program, name], environment, folder / f"{name}.log")
            onward = Onward(cluster, worker, others)
            warming = await onward.hand_in(chain(), list(range(WARM_UP)))
            await onward.wait(warming, "n0", list(range(1, WARM_UP + 1)))
            yield onward
    finally:
        worker.end()
        others.end()
        servers.rabbitmq.drop_host(settings.rabbitmq_url)


class Celery:
    """One worker of Celery, and its driver in a process of its own."""

    def __init__(self, peer: list[str], environment: dict[str, str], worker: Group) -> None:
        self.worker = worker
        self._driver = subprocess.Popen(
            [*peer, "celery_peer.py"],
            env={**os.environ, **environment},
            cwd=HERE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def order(self, name: str, *given: Any) -> float:
        """Have the driver do something; return the seconds that it took."""
        if self._driver.stdin is None or self._driver.stdout is None:
            raise SystemExit("the driver has no pipes")
        self._driver.stdin.write(json.dumps({"do": name, "with": given}) + "\n")
        self._driver.stdin.flush()
        answer = self._driver.stdout.readline()
        if not answer:
            raise SystemExit("the driver of Celery gave up; see above")
        return float(json.loads(answer)["seconds"])

    def chain(self, runs: int) -> Sample:
        """Measure the chain."""
        self.worker.send(signal.SIGSTOP)
        self.order("chains", runs, LENGTH)
        used = self.worker.cpu_s()
        began = time.perf_counter()
        self.worker.send(signal.SIGCONT)
        self.order("wait", PATIENCE_S)
        return rates(runs, time.perf_counter() - began, self.worker.cpu_s() - used)

    def chord(self, items: int) -> float:
        """Measure the chord: items per second."""
        return items / (self.order("chord", items) + self.order("wait", PATIENCE_S))

    def end(self) -> None:
        """End both."""
        self.worker.end()
        self._driver.kill()
        self._driver.wait()


def open_celery(
    servers: Servers, peer: list[str], flavour: str, slots: int, folder: Path
) -> Celery:
    """Start Celery on places of its own, and warm it up."""
    pool, acks, results, confirm = FLAVOURS[flavour]
    environment = {
        "PEER_BROKER": servers.rabbitmq.new_host(),
        "PEER_BACKEND": new_redis(servers.redis),
        "PEER_ACKS": acks,
        "PEER_RESULTS": results,
        "PEER_CONFIRM": confirm,
        "PEER_PREFETCH": str(slots),
    }
    words = ["-m", "celery", "-A", "celery_peer", "worker", "--loglevel", "WARNING"]
    words += ["--pool", pool, "--concurrency", "1"]
    words += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    worker = Group()
    worker.start([*peer, *words], environment, folder / "celery.log")
    celery = Celery(peer, environment, worker)
    celery.order("chains", WARM_UP, LENGTH)
    celery.order("wait", PATIENCE_S)
    return celery


def chain() -> GraphProgram:
    """Return a workflow of ten nodes, one after the other, each adding one."""
    names = [f"n{index}" for index in range(LENGTH)]
    nodes = [_adding(name) for name in names]
    edges = [{"id": f"{a}-{b}", "src": a, "dst": b} for a, b in pairwise(names)]
    return _compiled({"id": "chain", "nodes": nodes, "edges": edges})


def fan() -> GraphProgram:
    """Return a workflow that adds one to each item of its input."""
    split = {"id": "each", "type": "split", "parameters": {"input_array": "$trigger"}}
    nodes = [split, _adding("work"), {"id": "all", "type": "aggregator"}]
    pairs = (("each", "work"), ("work", "all"))
    edges = [{"id": f"{a}-{b}", "src": a, "dst": b} for a, b in pairs]
    return _compiled({"id": "fan", "nodes": nodes, "edges": edges})


def _adding(name: str) -> dict[str, Any]:
    return {"id": name, "type": "transform", "parameters": {"expression": ". + 1"}}


def _compiled(document: dict[str, Any]) -> GraphProgram:
    return compile_source(json.dumps(document).encode())


def rates(runs: int, seconds: float, cpu_s: float) -> Sample:
    """Return what one measurement of the chain comes to."""
    nodes = runs * LENGTH
    return {
        "nodes_per_s": nodes / seconds,
        "runs_per_s": runs / seconds,
        "cpu_us_per_node": 1e6 * cpu_s / nodes,
    }


async def measure(
    given: argparse.Namespace, servers: Servers, peer: list[str], folder: Path
) -> dict[str, list[Sample]]:
    """Measure every engine in every round, in turns."""
    samples: dict[str, list[Sample]] = {
        name: [] for name in ("onward", *(FLAVOURS if peer else ()))
    }
    for number in range(1, given.rounds + 1):
        for name, found in samples.items():
            print(f"round {number} of {given.rounds}: {name}", file=sys.stderr)
            if name == "onward":
                async with open_onward(servers, given.slots, folder) as onward:
                    sample = await onward.chain(given.runs)
                    sample["items_per_s"] = await onward.split(given.items)
            else:
                celery = open_celery(servers, peer, name, given.slots, folder)
                try:
                    sample = celery.chain(given.runs)
                    sample["items_per_s"] = celery.chord(given.items)
                finally:
                    celery.end()
            found.append(sample)
    return samples


def report(samples: dict[str, list[Sample]]) -> dict[str, Any]:
    """Return the medians, and how onward compares."""
    medians = {
        name: {key: round(statistics.median(one[key] for one in found), 1) for key in found[0]}
        for name, found in samples.items()
    }
    ratios = {
        what: {
            key: round(medians["onward"][key] / max(medians[name][key] for name in names), 2)
            for key in ("nodes_per_s", "items_per_s")
        }
        for what, names in RATIOS.items()
        if names[0] in medians
    }
    return {
        "rounds": len(samples["onward"]),
        "medians": medians,
        "ratio": ratios,
        "samples": samples,
    }


def table(found: dict[str, Any]) -> str:
    """Return the report for people."""
    heads = ("nodes/s", "runs/s", "worker CPU us/node", "split items/s")
    keys = ("nodes_per_s", "runs_per_s", "cpu_us_per_node", "items_per_s")
    lines = ["".join((f"{'':<36}", *(f"{head:>20}" for head in heads)))]
    for name, one in found["medians"].items():
        lines.append("".join((f"{name:<36}", *(f"{one[key]:>20,.0f}" for key in keys))))
    beside = found["medians"]["onward"]["beside_us"]
    lines.append(
        f"\nmedians of {found['rounds']}; beside its worker, onward's scheduler and master use"
    )
    lines[-1] += f" {beside:.0f} us/node"
    for what, ratio in found["ratio"].items():
        lines.append(
            f"onward to Celery, {what}: {ratio['nodes_per_s']} times the nodes/s,"
            f" {ratio['items_per_s']} times the items/s"
        )
    return "\n".join(lines)


def peer_command(python: str | None) -> list[str]:
    """Return how to start Python with Celery, without touching this environment."""
    if python:
        return [python]
    if shutil.which("uv") is None:
        raise SystemExit(
            f"The peer needs {CELERY} in an environment of its own: install uv, or give "
            "--peer-python; with --no-peer only onward is measured."
        )
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return ["uv", "run", "--quiet", "--no-project", "--python", version, "--with", CELERY, "python"]


def main(arguments: list[str]) -> int:
    """Measure, and print what came of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=500, help="runs of the chain")
    parser.add_argument("--items", type=int, default=1_000, help="items of the split")
    parser.add_argument("--slots", type=int, default=128, help="the prefetch of either worker")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--no-peer", action="store_true", help="measure onward alone")
    parser.add_argument("--peer-python", help="a Python that has celery[redis]")
    given = parser.parse_args(arguments)
    peer = [] if given.no_peer else peer_command(given.peer_python)
    with tempfile.TemporaryDirectory(prefix="onward-compare-") as name:
        servers = Servers(start_rabbitmq()[0], start_redis()[0], start_postgres(durable=True)[0])
        found = report(asyncio.run(measure(given, servers, peer, Path(name))))
    print(json.dumps(found, indent=2) if given.json else table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
