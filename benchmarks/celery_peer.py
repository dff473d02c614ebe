"""The same work on Celery 5, broker RabbitMQ and result backend Redis: tasks and a driver.

    celery -A celery_peer worker          # the worker, as its documentation starts it
    python celery_peer.py                 # the driver: orders on standard input, one JSON a line

It needs `celery[redis]` and nothing of onward, so that it can run in an environment of its own:
`compare.py` starts both. Settings come by the environment (PEER_*).

The prefetch is that of an onward worker, and the worker runs without gossip, mingle, heartbeat and
events. Celery keeps the result of every task unless it is told not to (PEER_RESULTS=last: only the
last of a chain) and publishes without confirms unless it is told to (PEER_CONFIRM=1).
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib import import_module
from typing import Any

Celery: Any = import_module("celery").Celery
LOOK_S = 0.02

app = Celery("celery_peer")
app.conf.update(
    broker_url=os.environ["PEER_BROKER"],
    result_backend=os.environ["PEER_BACKEND"],
    broker_transport_options={"confirm_publish": os.environ.get("PEER_CONFIRM") == "1"},
    task_acks_late=os.environ.get("PEER_ACKS") == "late",
    worker_prefetch_multiplier=int(os.environ.get("PEER_PREFETCH", "64")),
    broker_connection_retry_on_startup=True,
)


@app.task(name="add", ignore_result=os.environ.get("PEER_RESULTS") == "last")
def add(value: int) -> int:
    """The trivial step."""
    return value + 1


@app.task(name="add_item")
def add_item(value: int) -> int:
    """The trivial step of an item: its result is what the chord gathers."""
    return value + 1


@app.task(name="gather")
def gather(values: list[int]) -> list[int]:
    """What follows a chord."""
    return values


class Driver:
    """Hands work in, and waits for its results."""

    def __init__(self) -> None:
        self._last: list[tuple[str, Any]] = []

    def chains(self, runs: int, length: int) -> None:
        """Hand in `runs` chains of `length` tasks; the last task of each keeps its result."""
        for number in range(runs):
            steps = [add.si(number), *(add.s() for _ in range(length - 2))]
            last = add.s().set(ignore_result=False)
            self._expect(import_module("celery").chain(*steps, last), number + length)

    def chord(self, items: int) -> None:
        """Hand in one chord of `items` tasks."""
        header = [add_item.s(number) for number in range(items)]
        whole = import_module("celery").chord(header, gather.s())
        self._expect(whole, list(range(1, items + 1)))

    def wait(self, timeout_s: float) -> None:
        """Return when all that was handed in has come to the right values."""
        until = time.monotonic() + timeout_s
        client, prefix = app.backend.client, app.backend.task_keyprefix
        waiting = {prefix + name.encode(): value for name, value in self._last}
        while waiting:
            if time.monotonic() > until:
                raise SystemExit(f"{len(waiting)} results did not come within {timeout_s:g} s")
            keys = list(waiting)
            for key, body in zip(keys, client.mget(keys), strict=True):
                if body is not None:
                    expected, found = waiting.pop(key), json.loads(body)
                    if found["status"] != "SUCCESS" or found["result"] != expected:
                        raise SystemExit(f"Celery came to {found}, not to {expected}")
            time.sleep(LOOK_S)
        self._last.clear()

    def _expect(self, signature: Any, value: Any) -> None:
        self._last.append((signature.apply_async().id, value))


def main() -> None:
    """Obey orders: {"do": "chains", "with": [...]} and so on; each is answered by a line."""
    driver = Driver()
    for line in sys.stdin:
        order = json.loads(line)
        began = time.perf_counter()
        getattr(driver, order["do"])(*order["with"])
        print(json.dumps({"seconds": time.perf_counter() - began}), flush=True)


if __name__ == "__main__":
    main()
