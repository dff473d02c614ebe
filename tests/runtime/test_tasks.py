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


class FakeTime:
    """Sleeps without waiting, and ends the world after so many sleeps."""

    def __init__(self, most=100):
        self.slept = []
        self._most = most

    async def sleep(self, seconds):
        self.slept.append(seconds)
        if len(self.slept) >= self._most:
            raise asyncio.CancelledError


async def test_an_outage_is_outlasted_with_pauses_that_double_up_to_the_longest():
    time, reported = FakeTime(), []
    answers = [ConnectionError("1"), ConnectionError("2"), ConnectionError("3"), "back"]

    async def work():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    found = await tasks.retry(
        work,
        ConnectionError,
        reported.append,
        first_pause_s=0.5,
        longest_pause_s=1.5,
        sleep=time.sleep,
    )

    assert "back" == found
    assert [0.5, 1.0, 1.5] == time.slept
    assert ["1", "2", "3"] == [str(problem) for problem in reported]


async def test_what_is_no_outage_is_raised_at_once():
    time = FakeTime()

    async def work():
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        await tasks.retry(
            work, ConnectionError, first_pause_s=1, longest_pause_s=1, sleep=time.sleep
        )
    assert [] == time.slept


async def test_repeated_work_survives_every_failure_and_pauses_after_each_time():
    time, reported, done = FakeTime(most=3), [], []

    async def work():
        done.append(len(done))
        if len(done) == 2:
            raise RuntimeError("away")

    with pytest.raises(asyncio.CancelledError):
        await tasks.repeat(work, reported.append, pause_s=7, sleep=time.sleep)

    assert [0, 1, 2] == done
    assert [7, 7, 7] == time.slept
    assert ["away"] == [str(problem) for problem in reported]
