"""A laboratory on the real services: a worker, a scheduler and a master in this process."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import pika

from onward.adapters.rabbitmq.topology import QueueType, Topology
from onward.adapters.redis.connection import FORMAT_KEY
from onward.bootstrap.cluster import Cluster, ClusterSettings, open_cluster
from onward.bootstrap.host import now_ms
from onward.kernel.messages import CompletionMessage, NodeStatusMessage, decode_completion
from onward.kernel.records import VisitRecord
from onward.languages.graph.document import parse_definition
from onward.languages.graph.program import GraphProgram, compile_graph
from onward.ports.nodes.outside import Log
from onward.runtime.cluster.master import Master
from onward.runtime.queues import COMPLETION, STATUS
from support.probe import Book, catalogue_with

FORMAT = FORMAT_KEY.encode()
PATIENCE_S = 120
LOOK_S = 0.01


class Folding:
    """A store that also remembers what was folded into it."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.statuses: list[NodeStatusMessage] = []
        self.completions: list[CompletionMessage] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def fold(
        self, statuses: Sequence[NodeStatusMessage], completions: Sequence[CompletionMessage]
    ) -> None:
        """Fold a batch, and remember it."""
        await self._store.fold(statuses, completions)
        self.statuses += statuses
        self.completions += completions


class Quiet:
    """A log that nobody reads."""

    def write(self, level: str, message: str, **fields: object) -> None:
        """Drop the line."""


_quiet: type[Log] = Quiet


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is over."""

    execution_id: str
    message: CompletionMessage
    context: dict[str, Any]
    history: list[VisitRecord]

    @property
    def status(self) -> str:
        """How it ended."""
        return self.message.status

    def output(self, node: str) -> Any:
        """Return what `node` left in the final context."""
        return self.context.get(f"${node}")

    def visits(self, node: str) -> int:
        """Return how many visits of `node` came to a success."""
        return sum(one.node_id == node and one.status == "success" for one in self.history)


class Lab:
    """One cluster, and everything that runs on it."""

    def __init__(self, cluster: Cluster, book: Book) -> None:
        self.cluster = cluster
        self.book = book
        self.folded = Folding(cluster.store)
        self.ended: list[str] = []

    @asynccontextmanager
    async def processes(self, *, families: bool = False) -> AsyncIterator[None]:
        """Run a worker, a scheduler and a master until the context is left.

        `families`: the master also tells runs how those ended that they have started.
        """
        worker = self.cluster.worker()
        ended = self.cluster.child_runs().ended if families else None
        master = Master(self.cluster.bus, self.folded, Quiet(), ended=ended)
        async with self.running(worker.run(), self.cluster.scheduler().run(), master.run()):
            yield
        await worker.drain(5)

    @asynccontextmanager
    async def running(self, *works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
        """Run some processes until the context is left; none of them may end before."""
        tasks = [asyncio.create_task(work) for work in works]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [asyncio.CancelledError] * len(works) == [type(result) for result in results]

    def program(self, document: dict[str, Any]) -> GraphProgram:
        """Return a compiled document."""
        return compile_graph(parse_definition(document), self.cluster.languages.catalogue)

    async def start(self, document: dict[str, Any], given: Any = None) -> str:
        """Start a run and return its id."""
        program = self.program(document)
        return await self.cluster.starter().start(program, program.document.source, given)

    async def finish(self, execution_id: str) -> Ended:
        """Wait until a run has ended and left nothing behind, and return it."""
        store = self.cluster.store
        self.ended.append(execution_id)

        async def over() -> bool:
            execution = await store.execution(execution_id)
            return execution is not None and execution.completion is not None

        await until(over)
        await until(self.tidy)
        execution = await store.execution(execution_id)
        assert execution is not None
        assert execution.completion is not None
        message = decode_completion(execution.completion)
        context = {name: msgspec.json.decode(raw) for name, raw in message.final_context.items()}
        for name, ref in message.context_refs.items():
            context[name] = msgspec.json.decode(await store.get(execution_id, ref))
        last = {message.failed_node} - {""} if message.status == "halted" else message.output_nodes

        async def told() -> bool:
            # Statuses and endings are folded beside each other: the last status may come later.
            return {run.node_id for run in await store.node_runs(execution_id)} >= set(last)

        await until(told)
        history = await store.node_runs(execution_id)
        visits = [(one.token_id, one.node_id) for one in history]
        assert len(visits) == len(set(visits)), "a visit is recorded once"
        return Ended(execution_id, message, context, history)

    async def run(self, document: dict[str, Any], given: Any = None) -> Ended:
        """Run a document to its end."""
        return await self.finish(await self.start(document, given))

    async def run_all(self, document: dict[str, Any], given: Sequence[Any]) -> list[Ended]:
        """Run a document for each input, all at once, to their ends."""
        return await self.finish_all(*[await self.start(document, one) for one in given])

    async def finish_all(self, *runs: str) -> list[Ended]:
        """Wait until runs that go on at the same time have ended, and return them."""
        self.ended += runs
        ended = []
        for run in runs:
            self.ended.remove(run)
            ended.append(await self.finish(run))
        return ended

    async def tidy(self) -> bool:
        """Whether Redis holds nothing but the tombstones of the runs that ended."""
        tombstones = {re.sub(r"~\d+\}", "}", key) for key in await self.keys()}
        return tombstones <= {f"exec:{{{run}}}:done" for run in self.ended}

    async def told(self) -> bool:
        """Whether the master is done with the ends of the runs that ended."""
        return {completion.execution_id for completion in self.folded.completions} >= set(
            self.ended
        )

    async def keys(self) -> set[str]:
        """Return every key in Redis that some run has left there."""
        return {
            key.decode()
            for key in await self.cluster.redis.keys("*")
            if key != FORMAT and not key.startswith(b"workers:")
        }


@asynccontextmanager
async def idle_laboratory(
    rabbitmq: str, redis: str, postgres: str, **more: Any
) -> AsyncIterator[Lab]:
    """Open a cluster on which nothing runs yet, with settings of your own."""
    book = Book(now_ms, lambda: None)
    settings = ClusterSettings(
        rabbitmq_url=rabbitmq, redis_url=redis, postgres_url=postgres, **more
    )
    async with open_cluster(settings, catalogue=catalogue_with(book)) as cluster:
        yield Lab(cluster, book)


@asynccontextmanager
async def laboratory(
    rabbitmq: str,
    redis: str,
    postgres: str,
    queue_type: QueueType = "classic",
    *,
    families: bool = False,
    **more: Any,
) -> AsyncIterator[Lab]:
    """Open a cluster with processes on it; when it is closed, no queue may hold a message."""
    async with idle_laboratory(rabbitmq, redis, postgres, queue_type=queue_type, **more) as lab:
        async with lab.processes(families=families):
            yield lab
            await until(lambda: empty(rabbitmq))
            await until(lab.told)
        assert await lab.tidy(), await lab.keys()
    check_end(rabbitmq, lab)


def check_end(rabbitmq: str, lab: Lab) -> None:
    """Hold a cluster that is closed to what every one promises: nothing is left, all is told."""
    # Only now is nothing in anybody's hands: what was not acknowledged is back in its queue. News
    # that the master was about to write is for the next master.
    news = (STATUS, COMPLETION)
    assert {} == {name: count for name, count in held(rabbitmq).items() if name not in news}
    # Two workers on copies of one message may both tell the end, but never two different ends.
    completions = {msgspec.json.encode(completion) for completion in lab.folded.completions}
    told = [msgspec.json.decode(completion)["execution_id"] for completion in completions]
    assert sorted(lab.ended) == sorted(told), "one completion for each run"


async def empty(url: str) -> bool:
    """Return whether no message waits."""
    return held(url) == {}


def held(url: str) -> dict[str, int]:
    """Return how many messages wait in each queue that is not empty."""
    connection = pika.BlockingConnection(pika.URLParameters(url))
    try:
        channel = connection.channel()
        counts = {
            queue.name: channel.queue_declare(queue.name, passive=True).method.message_count
            for queue in Topology().queues()
        }
    finally:
        connection.close()
    return {name: count for name, count in counts.items() if count}


def publish(url: str, queue: str, *bodies: bytes) -> None:
    """Put messages into a queue with a bare client."""
    connection = pika.BlockingConnection(pika.URLParameters(url))
    try:
        channel = connection.channel()
        for body in bodies:
            channel.basic_publish("", queue, body)
    finally:
        connection.close()


def take(url: str, queue: str) -> list[bytes]:
    """Take every message out of a queue with a bare client."""
    connection = pika.BlockingConnection(pika.URLParameters(url))
    try:
        channel = connection.channel()
        bodies = []
        while (got := channel.basic_get(queue, auto_ack=True))[0] is not None:
            bodies.append(got[2])
    finally:
        connection.close()
    return bodies


async def until(happened: Callable[[], Any]) -> None:
    """Return when something has happened; it fails when that takes far too long."""
    async with asyncio.timeout(PATIENCE_S):
        while not await happened():
            await asyncio.sleep(LOOK_S)
