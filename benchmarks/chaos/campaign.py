"""One campaign from the first server to the verdict."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec
from benchmarks.chaos import servers
from benchmarks.chaos.facts import Witness, keys_of, messages_of, reasons_of, unended
from benchmarks.chaos.faults import Breaker
from benchmarks.chaos.load import Load, Probes
from benchmarks.chaos.oracle import Problem, Seen, judge, left_behind
from benchmarks.chaos.peace import Expected, in_peace
from benchmarks.chaos.plan import MASTERS, SCHEDULERS, Fault, Plan
from benchmarks.chaos.processes import Processes
from benchmarks.chaos.proxy import Proxy
from benchmarks.chaos.report import Report
from benchmarks.chaos.standin import StandIn
from benchmarks.chaos.workflows import workflows

from onward.bootstrap.cluster import Cluster, ClusterSettings, open_cluster
from onward.errors import OnwardError

HEARTBEAT_S = 4
"""Short, so that a worker that is frozen or silent loses its messages while it still lives."""
SETTLE_S = 420
"""Longer than the three pauses after which a message is given up: 5, 25 and 125 seconds."""
TIDY_S = 200
PATIENCE = 3
"""A campaign that has not met its numbers after this many times its seconds will not."""
EXPLAINED = 10

Tell = Callable[[str, float, int, int], None]
"""A stage, the seconds under load, runs started, faults done."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What is asked of a campaign beside its plan."""

    rate: float
    back_within_s: float


@dataclass(slots=True)
class _Ground:
    """Everything that a campaign stands on."""

    cluster: Cluster
    processes: Processes
    breaker: Breaker
    load: Load
    probes: Probes
    expected: Expected
    standin: StandIn
    rabbitmq_url: str


async def run(plan: Plan, limits: Limits, tell: Tell) -> Report:
    """Run a campaign and return what came of it; on a broken promise its logs are kept."""
    logs = Path(tempfile.mkdtemp(prefix="onward-chaos-logs-"))
    report = Report(plan.seed)
    tell("starting", 0, 0, 0)
    async with _ground(plan, logs) as ground:
        wiped_at_s = await _under_fire(plan, limits, ground, report, tell)
        await _verdict(ground, limits, report, wiped_at_s, tell)
    if report.problems:
        report.logs = str(logs)
        (logs / "report.json").write_bytes(
            msgspec.json.format(msgspec.json.encode(report.as_json()))
        )
        shutil.rmtree(logs / "bytecode", ignore_errors=True)
    else:
        shutil.rmtree(logs)
    return report


@asynccontextmanager
async def _ground(plan: Plan, logs: Path) -> AsyncIterator[_Ground]:
    data = Path(tempfile.mkdtemp(prefix="onward-chaos-"))
    async with AsyncExitStack() as stack:
        stack.callback(shutil.rmtree, data, ignore_errors=True)
        stack.callback(servers.end_everything)
        for name in ("rabbitmq", "redis"):
            (data / name).mkdir()
        broker, redis, postgres = await asyncio.gather(
            asyncio.to_thread(servers.BrokerServer, data / "rabbitmq"),
            asyncio.to_thread(servers.RedisServer, data / "redis"),
            asyncio.to_thread(servers.PostgresServer),
        )
        direct = {"rabbitmq": broker.url, "redis": redis.url, "postgres": postgres.url}
        behind: dict[str, servers.Server] = {
            "rabbitmq": broker,
            "redis": redis,
            "postgres": postgres,
        }
        proxies = {name: Proxy(server.port) for name, server in behind.items()}
        for proxy in proxies.values():
            await proxy.open()
            stack.push_async_callback(proxy.close)
        standin = StandIn()
        await standin.open()
        stack.push_async_callback(standin.close)
        load_of = workflows(standin.url)
        expected = await in_peace(load_of, standin, data)
        cluster = await stack.enter_async_context(
            open_cluster(
                ClusterSettings(
                    rabbitmq_url=direct["rabbitmq"],
                    redis_url=direct["redis"],
                    postgres_url=direct["postgres"],
                )
            )
        )
        processes = Processes(_names(plan), _addresses(direct, proxies), logs)
        stack.callback(processes.kill_all)
        load = Load(plan, cluster, load_of)
        breaker = Breaker(plan, cluster, processes, behind, proxies)
        probes = Probes(load, load_of[0])
        yield _Ground(
            *(cluster, processes, breaker, load, probes, expected, standin, direct["rabbitmq"])
        )


def _names(plan: Plan) -> list[str]:
    counts = {"worker": plan.workers, "scheduler": SCHEDULERS, "master": MASTERS}
    return [f"{kind}-{n}" for kind, count in counts.items() for n in range(1, count + 1)]


def _addresses(direct: dict[str, str], proxies: dict[str, Proxy]) -> dict[str, str]:
    """Return the environment of the processes: every service is behind its proxy."""
    places = {}
    for name, url in direct.items():
        parts = urlsplit(url)
        user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
        query = f"heartbeat={HEARTBEAT_S}" if name == "rabbitmq" else ""
        place = parts._replace(netloc=f"{user}127.0.0.1:{proxies[name].port}", query=query)
        places[f"ONWARD_{name.upper()}_URL"] = urlunsplit(place)
    return places


# -- under fire ----------------------------------------------------------------------------------


async def _under_fire(
    plan: Plan, limits: Limits, ground: _Ground, report: Report, tell: Tell
) -> float | None:
    """Start runs and break things until the plan has enough; return when Redis was wiped last."""
    load, breaker, probes = ground.load, ground.breaker, ground.probes
    await probes.after(Fault(0, 0, "first", "start", "everything", 0))
    if probes.failed:
        raise RuntimeError(f"the cluster does not work even undisturbed: {probes.failed[0]}")
    probes.took_s.clear()
    began = time.monotonic()
    loading = asyncio.create_task(load.keep_on(limits.rate))
    hitting: set[asyncio.Task[None]] = set()

    async def hit(fault: Fault) -> None:
        await breaker.inflict(fault)
        await probes.after(fault)

    try:
        for fault in plan.faults():
            while (now := time.monotonic() - began) < fault.at_s and not _over(plan, ground, now):
                await asyncio.sleep(min(0.5, fault.at_s - now))
                ground.processes.look()
                tell("under fire", now, load.accepted, breaker.done.total())
            if _over(plan, ground, now):
                break
            if fault.group == "wipe":
                probes.wiped_at_s = time.monotonic()
            hitting.add(asyncio.create_task(hit(fault)))
        report.seconds = time.monotonic() - began
    finally:
        loading.cancel()
        with suppress(asyncio.CancelledError):
            await loading
    report.rate = load.accepted / report.seconds
    tell("last faults", report.seconds, load.accepted, breaker.done.total())
    await asyncio.gather(*hitting)
    if not plan.enough(report.seconds, load.accepted, breaker.groups):
        short = f"{load.accepted} runs and {dict(breaker.groups)} after {report.seconds:.0f} s"
        report.problems.append(Problem("unfinished", f"the plan was not met: {short}"))
    return probes.wiped_at_s


def _over(plan: Plan, ground: _Ground, elapsed_s: float) -> bool:
    if elapsed_s > PATIENCE * plan.seconds:
        return True
    return plan.enough(elapsed_s, ground.load.accepted, ground.breaker.groups)


# -- the verdict ---------------------------------------------------------------------------------


async def _verdict(
    ground: _Ground, limits: Limits, report: Report, wiped_at_s: float | None, tell: Tell
) -> None:
    load, cluster, breaker = ground.load, ground.cluster, ground.breaker
    wiped = wiped_at_s is not None
    started = load.accepted
    tell("waiting for every run to end", report.seconds, started, breaker.done.total())
    report.settled_s = await _wait(lambda: _all_ended(ground), SETTLE_S)
    tell("waiting until nothing is left", report.seconds, started, breaker.done.total())
    report.tidy_s = await _wait(lambda: _all_gone(ground, wiped=wiped), TIDY_S)
    ground.processes.look()
    tell("judging", report.seconds, started, breaker.done.total())
    report.problems += [Problem("died", death) for death in ground.processes.deaths]
    late = await asyncio.to_thread(ground.processes.end)
    report.problems += [Problem("died", one) for one in late]

    keys = await keys_of(cluster)
    messages = await asyncio.to_thread(messages_of, ground.rabbitmq_url)
    reasons = await reasons_of(cluster, messages)
    witness = Witness(cluster, load, ground.expected, ground.standin, wiped_at_s)
    seen = await witness.everything(keys, reasons)
    for one in seen:
        asked = load.runs[one.run]
        report.problems += judge(one, ground.expected[asked.workflow, asked.n])
    report.problems += left_behind(keys, messages, quarantine_allowed=wiped)
    report.problems += _slow(ground.probes, limits)
    _count(report, ground, seen)
    report.evidence = await _evidence(cluster, report, reasons)


async def _all_ended(ground: _Ground) -> bool:
    return not await unended(ground.cluster, ground.load)


async def _all_gone(ground: _Ground, *, wiped: bool) -> bool:
    keys = await keys_of(ground.cluster)
    messages = await asyncio.to_thread(messages_of, ground.rabbitmq_url)
    return not left_behind(keys, messages, quarantine_allowed=wiped)


async def _wait(over: Callable[[], Any], limit_s: float) -> float:
    """Return how long it took, or the limit; the oracle will say what is missing."""
    began = time.monotonic()
    while (elapsed_s := time.monotonic() - began) < limit_s:
        with suppress(OnwardError):
            if await over():
                break
        await asyncio.sleep(0.5)
    return elapsed_s


def _slow(probes: Probes, limits: Limits) -> list[Problem]:
    late = [
        f"service was back only {seconds:.1f} s after {kind}, not within {limits.back_within_s:g} s"
        for kind, times in probes.took_s.items()
        for seconds in times
        if seconds > limits.back_within_s
    ]
    return [Problem("slow", what) for what in (*late, *probes.failed)]


def _count(report: Report, ground: _Ground, seen: list[Seen]) -> None:
    accepted = [run for run in ground.load.runs.values() if run.accepted]
    report.workflows = Counter(one.workflow for one in accepted)
    report.endings = Counter(one.status or "not ended" for one in seen if one.accepted)
    report.refused = dict(ground.load.refused)
    report.faults = dict(ground.breaker.done)
    report.recovery_s = {**ground.probes.took_s, "repaired": ground.probes.repaired_s}
    report.node_runs = sum(one.visits.total() for one in seen)
    keys = [keys for one in seen for keys in one.effects.values()]
    report.effects = sum(map(len, keys))
    report.repeated = sum(key.total() - len(key) for key in keys)
    report.copies = ground.breaker.copies


async def _evidence(cluster: Cluster, report: Report, reasons: dict[str, str]) -> dict[str, Any]:
    """Return what can be said about the runs that are not as they should be."""
    runs = list(dict.fromkeys(problem.run for problem in report.problems if problem.run))[
        :EXPLAINED
    ]
    found: dict[str, Any] = {"quarantine": reasons} if reasons else {}
    for run_id in runs:
        explanation = await cluster.explain(run_id)
        history = await cluster.store.node_runs(run_id)
        visits = [(one.node_id, one.status, one.attempt, one.token_id) for one in history]
        found[run_id] = {"explain": msgspec.to_builtins(explanation), "visits": visits}
    return found
