"""Private services that can be stopped, killed and started again on the same data.

A keeper ends each of them with this process, however that ends.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from services import postgres, process, rabbitmq, redis
from services.process import MissingError

__all__ = [
    "BrokerServer",
    "MissingError",
    "PostgresServer",
    "RedisServer",
    "Server",
    "end_everything",
]

STOP_S = 60
_ROOMS: list[Path] = []
"""Data outside the campaign's own folder, to be removed with the servers."""


class Server(Protocol):
    """One service."""

    port: int

    def start(self) -> None:
        """Start, and return when it answers."""
        ...

    def stop(self, variant: str) -> None:
        """Stop it in the way that a fault of the plan names, and return when it is gone."""
        ...


@dataclass(slots=True)
class _Life:
    """A server process from its start to its end."""

    kept: process.Kept
    pid: int

    def end(self, number: signal.Signals, *, whole_group: bool) -> None:
        """Send a signal, and return when the process is gone."""
        (os.killpg if whole_group else os.kill)(self.pid, number)
        self.kept.process.wait(STOP_S)


def _begin(
    command: list[str],
    name: str,
    answers: Callable[[], bool],
    environment: dict[str, str] | None = None,
) -> _Life:
    # The keeper removes its room with the process: the data must not be in it.
    kept = process.keep(
        command, process.room(f"{name}-life"), environment=environment, ending=signal.SIGKILL
    )
    process.wait_until(answers, kept, name)
    keeper = kept.process.pid
    children = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
    return _Life(kept, int(children[0]))


def _needed(name: str, *folders: str) -> str:
    found = process.program(name, *folders)
    if found is None:
        raise MissingError(f"{name} is not on the search path: install it")
    return found


class RedisServer:
    """A Redis that has on disk whatever it has acknowledged."""

    def __init__(self, folder: Path) -> None:
        self.port = process.free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder
        self.start()

    def start(self) -> None:
        """Start, and return when it answers."""
        settings = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self._folder),
            "save": "",
            "appendonly": "yes",
            "appendfsync": "always",
            "maxmemory-policy": "noeviction",
        }
        words = [word for name, value in settings.items() for word in (f"--{name}", value)]
        command = [process.program("valkey-server") or _needed("redis-server"), *words]
        self._life = _begin(command, "redis", lambda: redis.answers(self.url))

    def stop(self, variant: str) -> None:
        """Stop it: `restart` lets it say goodbye."""
        ending = signal.SIGTERM if variant == "restart" else signal.SIGKILL
        self._life.end(ending, whole_group=False)


class PostgresServer:
    """A PostgreSQL that survives its own death, though not that of the machine."""

    def __init__(self) -> None:
        self.port = process.free_port()
        self._url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        root = os.geteuid() == 0
        self._folder = process.room("chaos-pg", postgres.UNPRIVILEGED if root else None)
        _ROOMS.append(self._folder)
        user = postgres.UNPRIVILEGED
        meek = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        self._prefix = meek if root else []
        subprocess.run(
            [*self._prefix, self._program("initdb"), "-D", self._data, *postgres.INITIALLY],
            check=True,
            capture_output=True,
            cwd=self._folder,
        )
        self.start()
        self.url = postgres.new_database(self._url)

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    @staticmethod
    def _program(name: str) -> str:
        folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
        return _needed(name, *map(str, folders))

    def start(self) -> None:
        """Start, and return when it answers."""
        # What is committed is with the operating system, and that is not killed here.
        settings = ("listen_addresses=127.0.0.1", "max_connections=200", "fsync=off")
        words = [word for setting in settings for word in ("-c", setting)]
        command = [self._program("postgres"), "-D", self._data, "-p", str(self.port)]
        self._life = _begin(
            [*self._prefix, *command, "-k", str(self._folder), *words],
            "postgres",
            lambda: process.listening(self.port) and postgres.answers(self._url),
        )

    def stop(self, variant: str) -> None:
        """Stop it: `restart` is its fast shutdown, anything else the immediate one."""
        ending = signal.SIGINT if variant == "restart" else signal.SIGQUIT
        self._life.end(ending, whole_group=False)


class BrokerServer:
    """A RabbitMQ node with its own name, ports and data."""

    def __init__(self, folder: Path) -> None:
        self.port = process.free_port()
        api_port = process.free_port()
        configuration = rabbitmq.CONFIGURATION.format(port=self.port, api_port=api_port)
        (folder / "rabbitmq.conf").write_text(configuration)
        (folder / "enabled_plugins").write_text("[rabbitmq_management].\n")
        self._environment = {
            "HOME": str(folder),
            "RABBITMQ_NODENAME": f"chaos-{os.getpid()}@localhost",
            "RABBITMQ_DIST_PORT": str(process.free_port()),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none",
            "ERL_EPMD_PORT": str(process.free_port()),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }
        self._script = _needed("rabbitmq-server", rabbitmq.SCRIPTS)
        self._server = rabbitmq.RabbitServer(
            f"amqp://guest:guest@127.0.0.1:{self.port}", f"http://127.0.0.1:{api_port}"
        )
        # An epmd that the node starts itself would be a daemon and outlive everything.
        port = int(self._environment["ERL_EPMD_PORT"])
        _begin([_needed("epmd")], "epmd", lambda: process.listening(port), self._environment)
        self.start()
        self.url = self._server.new_host()

    def start(self) -> None:
        """Start, and return when it answers."""
        self._life = _begin([self._script], "rabbitmq", self._server.answers, self._environment)

    def stop(self, variant: str) -> None:
        """Stop it: `restart` lets it close its queues."""
        graceful = variant == "restart"
        ending = signal.SIGTERM if graceful else signal.SIGKILL
        self._life.end(ending, whole_group=True)


def end_everything() -> None:
    """End every service that was started here."""
    for kept in process.KEPT:
        if kept.process.poll() is None:
            kept.end()
    for folder in _ROOMS:
        shutil.rmtree(folder, ignore_errors=True)
