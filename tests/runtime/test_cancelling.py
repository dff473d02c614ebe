"""Tasks end when they are told to, also those that do not listen at once."""

import asyncio

import pytest

from onward.runtime import tasks
from onward.runtime.tasks import cancel, together


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(tasks, "REPEAT_S", 0)


async def deaf(times, heard):
    """Go on after so many cancellations, as a client does that swallows them."""
    for _ in range(times):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.append("swallowed")
    await asyncio.Event().wait()


async def test_a_task_that_swallows_a_cancellation_is_cancelled_again():
    heard = []
    task = asyncio.create_task(deaf(2, heard))
    await asyncio.sleep(0)

    await cancel(task)

    assert ["swallowed", "swallowed"] == heard
    assert task.cancelled()


async def test_together_ends_with_all_of_its_parts_when_it_is_cancelled():
    heard = []
    task = asyncio.create_task(together(deaf(1, heard), deaf(0, heard)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    await cancel(task)

    assert ["swallowed"] == heard
    assert task.cancelled()


async def test_the_first_failure_ends_the_others_and_is_raised():
    heard = []

    async def fails():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await together(deaf(1, heard), fails())
    assert ["swallowed"] == heard
