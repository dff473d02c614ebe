"""A test that failed while the whole machine stood still is run once more, and the run says so.

A virtual machine can be paused for minutes, and whoever was waiting then finds all patience used up
at once. That says nothing about onward. A process that was merely busy, or waited for a slow
service, did not stand still: its clock kept ticking, or it was using the processor.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from _pytest.runner import runtestprotocol

from services.process import say

TICK_S = 0.5
LONG_S = 10.0


class Watch(threading.Thread):
    """Notices when time has passed in which this process could do nothing."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        used: Callable[[], float] = time.process_time,
    ) -> None:
        super().__init__(daemon=True, name="standstill")
        self._clock, self._used = clock, used
        self._last = clock(), used()
        self.pauses: list[tuple[float, float]] = []
        """When each ended, and how long it was."""

    def run(self) -> None:
        while True:
            time.sleep(TICK_S)
            self.tick()

    def tick(self) -> None:
        """Look at the clock."""
        (before, used), self._last = self._last, (self._clock(), self._used())
        passed, busy = self._last[0] - before, self._last[1] - used
        if passed > LONG_S and busy < passed / 10:
            self.pauses.append((self._last[0], passed))

    def since(self, began: float) -> float:
        """Return how long this process stood still since a time."""
        return sum(length for ended, length in self.pauses if ended > began)


WATCH = Watch()
WATCH.start()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test, and run it again if it failed and stood still."""
    began = time.monotonic()
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    failed = any(report.failed for report in reports)
    if failed and isinstance(item, pytest.Function) and (pause := _pause(began)):
        say(f"{item.nodeid} failed while the machine stood still for {pause:.0f} s: once more")
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _pause(began: float) -> float:
    WATCH.tick()  # the thread may not have come to it yet
    return WATCH.since(began)
