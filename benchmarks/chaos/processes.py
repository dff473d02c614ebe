"""The `onward` processes under test. One that dies is replaced; one that dies by itself is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

GIVE_UP_S = 600
STOP_S = 45


class Processes:
    """Workers, schedulers and masters by name, each with a log of its own."""

    def __init__(self, names: Iterable[str], environment: dict[str, str], folder: Path) -> None:
        self._folder = folder
        self._environment = {
            **{name: value for name, value in os.environ.items() if not _troubles(name)},
            **environment,
            "ONWARD_GIVE_UP": str(GIVE_UP_S),
            # Compiled once for all lives: it is two thirds of the time that a start takes.
            "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        }
        self._running = {name: self._start(name) for name in names}
        self._changing = Lock()
        """Faults come in threads: nobody may take one that is being killed for one that died."""
        self.deaths: list[str] = []
        """Those that nobody killed."""

    def kill(self, name: str) -> None:
        """Kill -9, and start another."""
        with self._changing:
            self._notice(name)
            process = self._running[name]
            process.kill()
            process.wait()
            self._running[name] = self._start(name)

    def stop(self, name: str) -> subprocess.Popen[bytes]:
        """Stop a process where it is, and return it: `go_on` continues exactly that one."""
        process = self._running[name]
        process.send_signal(signal.SIGSTOP)
        return process

    def look(self) -> None:
        """Replace those that died by themselves."""
        with self._changing:
            for name in self._running:
                self._notice(name)

    def end(self) -> list[str]:
        """Ask everyone to stop; return who did not do so in order and in time."""
        for process in self._running.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        late = []
        for name, process in self._running.items():
            try:
                code = process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                late.append(f"{name} was asked to stop and had not after {STOP_S} s")
            else:
                late += [f"{name} was asked to stop and ended with code {code}"] if code else []
        return late

    def kill_all(self) -> None:
        """End whoever is left."""
        for process in self._running.values():
            process.kill()
            process.wait()

    def _notice(self, name: str) -> None:
        code = self._running[name].poll()
        if code is not None:
            self.deaths.append(f"{name} ended by itself with code {code}: see {name}.log")
            self._running[name] = self._start(name)

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        command = [str(Path(sys.executable).with_name("onward")), name.partition("-")[0]]
        with (self._folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                command,
                env=self._environment,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )


def go_on(process: subprocess.Popen[bytes]) -> None:
    """Let a stopped process continue, if it is still there."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)


def _troubles(name: str) -> bool:
    """Whether a variable of this environment would change what is tested, or slow it down."""
    return name.startswith("ONWARD_") or name == "PYTHONDONTWRITEBYTECODE"
