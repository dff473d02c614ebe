"""A run that is ended from outside: the completion is safe before its state is dropped."""

import pytest

from onward.kernel.effects import Close, Forget
from onward.kernel.messages import CompletionMessage
from onward.runtime.cluster.close_run import close_run
from onward.runtime.queues import COMPLETION

MESSAGE = CompletionMessage(
    workflow_id="w",
    execution_id="x",
    status="cancelled",
    final_context={},
    completed_at="",
    total_duration_ms=0,
)


class Services:
    """A broker, a coordinator and timers that note what is asked of them, in order."""

    def __init__(self, standing=MESSAGE, broken=""):
        self.done = []
        self._standing = standing
        self._broken = broken

    async def answer(self, state_id, effect):
        self.done.append((type(effect), state_id))
        return self._standing if isinstance(effect, Close) else None

    async def publish(self, queue, body, *, priority=0):
        if queue == self._broken:
            raise ConnectionError("no")
        self.done.append((queue, None))

    async def cancel_all(self, state_id):
        self.done.append(("timers", state_id))


def close(services):
    return close_run(services, services, services, "x~1", "cancel", MESSAGE)


async def test_the_completion_is_published_before_the_state_is_forgotten():
    services = Services()

    assert await close(services)
    assert [(Close, "x~1"), (COMPLETION, None), ("timers", "x~1"), (Forget, "x~1")] == services.done


async def test_a_run_that_has_ended_otherwise_is_left_alone():
    services = Services(standing=None)

    assert not await close(services)
    assert [(Close, "x~1")] == services.done


async def test_a_completion_that_was_not_confirmed_leaves_the_state_to_the_next_attempt():
    services = Services(broken=COMPLETION)

    with pytest.raises(ConnectionError):
        await close(services)
    assert [(Close, "x~1")] == services.done
