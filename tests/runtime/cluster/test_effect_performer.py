"""What follows from a visit is sent when the broker has the visit's status, and not before."""

import asyncio
from types import SimpleNamespace

import msgspec

from onward.kernel.effects import Publish, Report
from onward.kernel.messages import Token
from onward.runtime.cluster.effects import EffectPerformer
from onward.runtime.cluster.status_outbox import StatusOutbox
from onward.runtime.queues import EXECUTION, STATUS
from support.jumping import FixedChance

VISIT = Token(
    workflow_id="w", execution_id="x", current_node="odd", token_id="t", accumulated_context={}
)


class Broker:
    """Takes what it gets, and confirms statuses when it is told to."""

    def __init__(self):
        self.taken = []
        self.statuses = asyncio.Event()

    async def publish(self, queue, body, *, priority=0):
        self.taken.append(queue)
        if queue == STATUS:
            await self.statuses.wait()


def judgement():
    yield Report(token=VISIT, node="odd", status="success", lineage=())
    yield Publish(msgspec.structs.replace(VISIT, current_node="next"))


async def test_a_token_waits_for_the_confirm_of_the_status_before_it():
    """A broker that dies with both unconfirmed may have kept the token and lost the status; the
    token settles its visit, and then nobody would tell the status again."""
    broker = Broker()
    services = SimpleNamespace(
        bus=broker,
        clock=SimpleNamespace(now_ms=lambda: 0),
        chance=FixedChance(),
        node_logs=None,
    )
    performing = asyncio.create_task(
        EffectPerformer(services, StatusOutbox(broker), None).perform(VISIT, judgement(), 0)
    )
    while not broker.taken:
        await asyncio.sleep(0)
    for _ in range(20):
        await asyncio.sleep(0)
    before = list(broker.taken)
    broker.statuses.set()
    await performing

    assert [STATUS] == before
    assert [STATUS, EXECUTION] == broker.taken
