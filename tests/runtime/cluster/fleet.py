"""The commands of the cluster as processes, each with its own log."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ONWARD = Path(sys.executable).with_name("onward")
PATIENCE_S = 120.0
LOOK_S = 0.002


@dataclass(frozen=True, slots=True)
class Running:
    """One process, and what it has said."""

    process: subprocess.Popen[bytes]
    log: Path

    def says(self, text: str) -> None:
        """Return when it has written `text` to standard error."""
        wait_until(lambda: text in self.log.read_text() or self.process.poll() is not None)
        assert text in self.log.read_text()

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def ends(self) -> int:
        """Return the exit code; it fails when that takes far too long."""
        return self.process.wait(PATIENCE_S)


class Fleet:
    """Starts commands on one cluster; none of them outlives it."""

    def __init__(self, folder: Path, rabbitmq: str, redis: str, postgres: str) -> None:
        self.folder = folder
        self.places = {
            "ONWARD_RABBITMQ_URL": rabbitmq,
            "ONWARD_REDIS_URL": redis,
            "ONWARD_POSTGRES_URL": postgres,
        }
        self._running: list[Running] = []

    def start(self, *words: object, **environment: str) -> Running:
        """Start a command; what it prints is in a file."""
        name = f"{len(self._running)}-{words[0]}"
        log, out = self.folder / f"{name}.err", self.folder / f"{name}.out"
        with log.open("wb") as err, out.open("wb") as output:
            process = subprocess.Popen(
                [ONWARD, *map(str, words)],
                env=self._environment(environment),
                cwd=self.folder,
                stdout=output,
                stderr=err,
            )
        self._running.append(Running(process, log))
        return self._running[-1]

    def close(self) -> None:
        """Kill what still runs."""
        for one in self._running:
            one.process.kill()
            one.process.wait()

    def _environment(self, more: dict[str, str]) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("ONWARD_")}
        return {**own, **self.places, **more}


def wait_until(happened: Callable[[], object]) -> None:
    """Return when something has happened; it fails when that takes far too long."""
    give_up = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < give_up, "it did not happen"
        time.sleep(LOOK_S)
