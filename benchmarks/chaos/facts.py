"""Looking at what is left when it is over: the ledger, the coordinator and the queues."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import msgspec
import pika  # type: ignore[import-untyped]  # carries no py.typed
from benchmarks.chaos.load import Load
from benchmarks.chaos.oracle import Seen, comparable
from benchmarks.chaos.peace import Expected, visits_of
from benchmarks.chaos.standin import StandIn

from onward.adapters.rabbitmq.topology import QUARANTINE, Topology
from onward.bootstrap.cluster import Cluster
from onward.kernel.messages import decode_completion
from onward.kernel.records import RunRecord

MOST_RUNS = 100_000
READERS = 8
_RUN = re.compile(r"exec:\{([^}]*)\}:(.*)")


async def keys_of(cluster: Cluster) -> list[str]:
    """Return every key of Redis that is there to stay: those of runs, and all without an expiry."""
    found = []
    async for raw in cluster.redis.scan_iter("*", count=1000):
        key = raw.decode()
        if key.startswith("exec:") or await cluster.redis.ttl(raw) == -1:
            found.append(key)
    return sorted(found)


def messages_of(rabbitmq_url: str) -> dict[str, int]:
    """Return how many messages wait in each queue that is not empty."""
    connection = pika.BlockingConnection(pika.URLParameters(rabbitmq_url))
    try:
        channel = connection.channel()
        counts = {
            queue.name: channel.queue_declare(queue.name, passive=True).method.message_count
            for queue in Topology().queues()
        }
    finally:
        connection.close()
    return {name: count for name, count in counts.items() if count}


async def unended(cluster: Cluster, load: Load) -> set[str]:
    """Return the runs whose start was confirmed and that the store does not know as ended."""
    waiting = {run for run, one in load.runs.items() if one.accepted}
    for found in await cluster.store.executions(limit=MOST_RUNS):
        if found.ended_ms is not None:
            waiting.discard(found.execution_id)
    return waiting


async def reasons_of(cluster: Cluster, messages: Mapping[str, int]) -> dict[str, str]:
    """Return why runs have a message in quarantine."""
    if not messages.get(QUARANTINE):
        return {}
    async with cluster.quarantine() as desk:
        return {held.execution_id: held.reason for held in await desk.list_all()}


class Witness:
    """Tells what became of each run."""

    def __init__(
        self,
        cluster: Cluster,
        load: Load,
        expected: Expected,
        standin: StandIn,
        wiped_at_s: float | None,
    ) -> None:
        self._cluster = cluster
        self._load = load
        self._expected = expected
        self._standin = standin
        self._wiped_at_s = wiped_at_s

    async def everything(self, keys: list[str], reasons: Mapping[str, str]) -> list[Seen]:
        """Return all runs."""
        found = await self._cluster.store.executions(limit=MOST_RUNS)
        known = {one.execution_id: one for one in found}
        matches = [_RUN.fullmatch(key) for key in keys]
        alive = {match[1] for match in matches if match and match[2] != "done"}
        room = asyncio.Semaphore(READERS)

        async def one(run: str) -> Seen:
            async with room:
                return await self._seen(
                    run, known.get(run), held=run in alive, cause=reasons.get(run, "")
                )

        return list(await asyncio.gather(*map(one, self._load.runs)))

    async def _seen(self, run: str, execution: RunRecord | None, *, held: bool, cause: str) -> Seen:
        started = self._load.runs[run]
        peace = self._expected[started.workflow, started.n]
        context: Any = None
        status = None
        if execution is not None and execution.completion is not None:
            message = decode_completion(execution.completion)
            status = message.status
            cause = cause or (message.error.message if message.error else "")
            raw = {name: msgspec.json.decode(one) for name, one in message.final_context.items()}
            context = comparable(raw, racing=peace.racing)
        return Seen(
            run=run,
            accepted=started.accepted,
            status=status,
            context=context,
            visits=visits_of(await self._cluster.store.node_runs(run)),
            effects=self._standin.asked.get(run, {}),
            held=held,
            cause=cause,
            wiped=self._wiped_at_s is not None and started.at_s < self._wiped_at_s,
        )
