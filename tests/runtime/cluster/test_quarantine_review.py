"""Which messages may leave quarantine."""

import json

import pytest

from onward.errors import InputError
from onward.kernel.records import RunRecord
from onward.ports.cluster.inspection import Snapshot
from onward.runtime.cluster.quarantine import QuarantineReview
from onward.runtime.queues import EXECUTION


class Delivery:
    """One message in the quarantine queue."""

    redelivered = False

    def __init__(self, body):
        self.body = body

    async def ack(self):
        """Remove it."""

    async def give_back(self):
        """Leave it there."""


class Cluster:
    """One quarantined message of a run that was rebuilt: its first state is over."""

    def __init__(self, generation):
        token = {
            "workflow_id": "w",
            "execution_id": "x",
            "current_node": "n",
            "accumulated_context": {},
            "definition_ref": "d",
            "generation": generation,
        }
        self._body = json.dumps(token).encode()
        self.published = []

    async def take(self):
        return [Delivery(self._body)]

    async def execution(self, execution_id):
        return RunRecord(
            execution_id=execution_id,
            workflow_id="w",
            definition_ref="d",
            status="running",
            started_ms=0,
            generation=1,
        )

    async def look(self, state_id):
        return Snapshot(over=state_id == "x")

    async def publish(self, queue, body, *, priority=0):
        self.published.append(queue)

    def review(self):
        return QuarantineReview(self, self, self, self)


async def test_a_message_of_a_rebuilt_run_can_be_released():
    """Only the state that the message belongs to counts, not the one that was lost before."""
    cluster = Cluster(generation=1)

    await cluster.review().release(None)

    assert [EXECUTION] == cluster.published


async def test_a_message_of_a_state_that_is_over_is_not_released():
    cluster = Cluster(generation=0)

    with pytest.raises(InputError, match="has ended"):
        await cluster.review().release(None)

    assert [] == cluster.published
