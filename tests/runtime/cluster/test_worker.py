"""What a worker does when something outside the node fails."""

import asyncio
import json
from types import SimpleNamespace

import msgspec

from onward.errors import StorageError
from onward.ports.cluster.workers import WorkerInfo
from onward.runtime.cluster.worker import Worker
from onward.runtime.queues import EXECUTION, RETRIES
from support.jumping import FixedChance

PLAIN = {
    "workflow_id": "w",
    "execution_id": "x",
    "current_node": "start",
    "workflow_definition": {"id": "w"},
    "accumulated_context": {},
}
WORKER = WorkerInfo(name="me", host="here", pid=1, version="0", slots=1, started_ms=0, seen_ms=0)


class Delivery:
    """One message, and whether it was acknowledged."""

    redelivered = False

    def __init__(self, body):
        self.body = body
        self.acked = asyncio.Event()

    async def ack(self):
        self.acked.set()


class Bus:
    """Delivers one message, and remembers what is published."""

    def __init__(self, delivery):
        self._delivery = delivery
        self.published = []

    async def consume(self, queue, *, prefetch):
        yield self._delivery
        await asyncio.Event().wait()

    async def publish(self, queue, body, *, priority=0):
        self.published.append((queue, json.loads(body)))


class Programs:
    """Knows every workflow, and refers to it once it has seen it."""

    async def of(self, token):
        located = msgspec.structs.replace(
            token, definition_ref="ref", workflow_definition=msgspec.UNSET
        )
        return SimpleNamespace(has_node=lambda _: True), located


async def ignore(*_, **__):
    """Do nothing."""


async def test_a_plain_message_whose_run_could_not_be_noted_is_still_plain_when_it_is_retried():
    """
    A plain message carries its definition, and that is how a worker knows that it starts a run. It
    was retried with a reference instead: the second worker took the run for noted, and history
    never knew it.
    """

    async def admit(token):
        raise StorageError("the database is away")

    delivery = Delivery(json.dumps(PLAIN).encode())
    bus = Bus(delivery)
    services = SimpleNamespace(
        bus=bus,
        leases=None,
        clock=SimpleNamespace(now_ms=lambda: 1_000),
        chance=FixedChance(),
        log=SimpleNamespace(write=lambda *_, **__: None),
        payloads=SimpleNamespace(load=None, get=None),
        evaluators=SimpleNamespace(run_with_answers=None),
        workers=None,
        endings=None,
        programs=Programs(),
        admission=SimpleNamespace(admit=admit),
        holdings=SimpleNamespace(note_failure=ignore),
    )
    worker = Worker(services, WORKER, queues=(EXECUTION,))
    consuming = asyncio.create_task(worker._consume(EXECUTION))
    await delivery.acked.wait()
    consuming.cancel()

    ((queue, message),) = bus.published
    assert RETRIES[0] == queue
    assert {"id": "w"} == message["workflow_definition"]
    assert not message.get("definition_ref")
    assert 1 == message["trouble"]
