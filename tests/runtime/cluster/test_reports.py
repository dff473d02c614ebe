"""What a node came to is told, also when the first telling fails."""

from typing import Any

from onward.ports.cluster.bus import BusError
from onward.runtime.queues import STATUS
from runtime.cluster.lab import idle_laboratory, until

DOCUMENT = {
    "id": "short",
    "nodes": [
        {"id": "start", "type": "manual_trigger"},
        {"id": "last", "type": "transform", "parameters": {"expression": "1"}},
    ],
    "edges": [{"id": "e", "src": "start", "dst": "last"}],
}


class Losing:
    """A bus that does not confirm the first status which says that `last` succeeded."""

    def __init__(self, bus: Any) -> None:
        self._bus = bus
        self.lost = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bus, name)

    async def publish(self, queue: str, body: bytes, *, priority: int = 0) -> None:
        """Publish, with that one exception."""
        said = b'"last"' in body and b'"success"' in body
        if queue == STATUS and said and not self.lost:
            self.lost += 1
            raise BusError("no confirm came in time")
        await self._bus.publish(queue, body, priority=priority)


async def test_a_status_that_was_not_confirmed_is_told_when_the_message_comes_again(
    rabbitmq_url, redis_url, postgres_url
):
    """
    Found by the chaos suite: the broker was away while a node ended the run. The run ended right
    after the repetition, but the ledger never learnt what its last node came to.
    """
    async with idle_laboratory(rabbitmq_url, redis_url, postgres_url) as lab:
        store = lab.cluster.store
        lab.cluster.bus = losing = Losing(lab.cluster.bus)

        async def over() -> bool:
            execution = await store.execution(run)
            return execution is not None and execution.ended_ms is not None

        async def told() -> bool:
            return {"start", "last"} == {one.node_id for one in await store.node_runs(run)}

        async with lab.processes():
            run = await lab.start(DOCUMENT)
            await until(over)
            assert 1 == losing.lost
            await until(told)
