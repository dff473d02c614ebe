"""A cluster of one's own for a benchmark: private services, and real `onward` processes on them.

Everything listens on loopback and keeps its data in a folder that is removed at the end. The
services end with the process that started them, however that ends. PostgreSQL and Redis are as
durable as in production (`fsync`, `appendonly`), and both may be killed and started again on the
same data.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from onward.bootstrap.cluster import Cluster, ClusterSettings, open_cluster  # noqa: E402
from onward.bootstrap.languages import compile_source  # noqa: E402
from onward.languages.graph.document import parse_definition  # noqa: E402
from services.postgres import UNPRIVILEGED, _folders  # noqa: E402
from services.process import Kept, free_port, keep, listening, program, room  # noqa: E402
from services.rabbitmq import RabbitServer, start_rabbitmq  # noqa: E402

START_S = 60


def say(text: str) -> None:
    """Tell the person at the terminal how far it is."""
    print(text, file=sys.stderr, flush=True)


class RedisServer:
    """A Redis that can be killed and started again on the same data."""

    def __init__(self, folder: Path, *, fsync: str = "everysec") -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder
        self._fsync = fsync
        self._kept: Kept | None = None
        self.start()

    def start(self) -> None:
        """Start, and wait until it answers."""
        settings = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self._folder),
            "save": "",
            "appendonly": "yes",
            "appendfsync": self._fsync,
            "maxmemory-policy": "noeviction",
        }
        words = [word for name, value in settings.items() for word in (f"--{name}", value)]
        command = [str(program("redis-server")), *words]
        self._kept = keep(command, room("redis-log"), ending=signal.SIGKILL)
        with redis.Redis.from_url(self.url) as client:
            _until(lambda: listening(self.port) and _loaded(client), "Redis")

    def restart(self) -> None:
        """Kill -9 and start again."""
        self.end()
        self.start()

    def end(self) -> None:
        """Kill -9."""
        if self._kept is not None:
            self._kept.end()
            self._kept = None


class PostgresServer:
    """A PostgreSQL that can be killed and started again on the same data."""

    def __init__(self) -> None:
        self.port = free_port()
        root = os.geteuid() == 0
        self.folder = room("bench-pg", UNPRIVILEGED if root else None)
        meek = ["setpriv", f"--reuid={UNPRIVILEGED}", f"--regid={UNPRIVILEGED}", "--init-groups"]
        self._prefix = meek if root else []
        self._kept: Kept | None = None
        command = [*self._program("initdb"), "-D", f"{self.folder}/data", "-U", "postgres"]
        subprocess.run(
            [*command, "-A", "trust", "-E", "UTF8", "--locale=C"],
            check=True,
            capture_output=True,
            cwd=self.folder,
        )
        self.start()

    def start(self) -> None:
        """Start, and wait until it answers."""
        command = [*self._program("postgres"), "-D", f"{self.folder}/data", "-p", str(self.port)]
        settings = ("listen_addresses=127.0.0.1", "max_connections=200")
        command += [
            "-k",
            str(self.folder),
            *(word for setting in settings for word in ("-c", setting)),
        ]
        # SIGQUIT ends it at once, as a crash would: it recovers from its log at the next start.
        self._kept = keep(command, room("postgres-log"), ending=signal.SIGQUIT)
        asking = [*self._program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        _until(lambda: subprocess.run(asking, check=False).returncode == 0, "PostgreSQL")

    def restart(self) -> None:
        """Stop it at once, as a crash would, and start again."""
        self.end()
        self.start()

    def end(self) -> None:
        """Stop it at once."""
        if self._kept is not None:
            self._kept.end()
            self._kept = None

    def new_database(self, name: str = "onward") -> str:
        """Make a database and return its URL."""
        where = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres"]
        subprocess.run([*self._program("createdb"), *where, name], check=True, cwd=self.folder)
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def _program(self, name: str) -> list[str]:
        return [*self._prefix, str(program(name, *_folders()))]


class Processes:
    """The onward processes of one cluster, by name: `worker-1`, `scheduler-2` and so on."""

    def __init__(self, settings: ClusterSettings, folder: Path) -> None:
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ONWARD_")},
            "ONWARD_RABBITMQ_URL": settings.rabbitmq_url,
            "ONWARD_REDIS_URL": settings.redis_url,
            "ONWARD_POSTGRES_URL": settings.postgres_url,
            "ONWARD_QUEUE_TYPE": settings.queue_type,
            "ONWARD_GIVE_UP": "600",
        }
        self.log = folder / "processes.log"
        self._words: dict[str, tuple[str, ...]] = {}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.kills = 0

    def start(self, name: str, *words: str) -> None:
        """Start a process; what stands before the dash is its command."""
        self._words[name] = words
        command = [str(Path(sys.executable).with_name("onward")), name.partition("-")[0], *words]
        with self.log.open("ab") as log:
            self.running[name] = subprocess.Popen(
                command, env=self._environment, stdout=log, stderr=log
            )

    def kill(self, name: str) -> None:
        """Kill -9, and start another in its place."""
        process = self.running[name]
        process.kill()
        process.wait()
        self.kills += 1
        self.start(name, *self._words[name])

    def until_ready(self, count: int) -> None:
        """Return when so many processes have said that they are ready."""

        def ready() -> bool:
            said = self.log.read_bytes() if self.log.exists() else b""
            ended = [name for name, one in self.running.items() if one.poll() is not None]
            if ended:
                raise RuntimeError(f"{ended} ended: {said.decode(errors='replace')[-3000:]}")
            return said.count(b": ready") >= count

        _until(ready, "the onward processes")

    def memory_mb(self, kind: str) -> tuple[float, float]:
        """Return the largest memory of any process of a kind: now, and at its peak."""
        names = [name for name in self.running if name.startswith(kind)]
        found = [_memory(self.running[name].pid) for name in names]
        return max(now for now, _ in found), max(peak for _, peak in found)

    def stop(self) -> None:
        """End everything."""
        for process in self.running.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        self.running.clear()


@dataclass(frozen=True)
class Bench:
    """The services, the processes and a client of them."""

    rabbitmq: RabbitServer
    redis: RedisServer
    postgres: PostgresServer
    settings: ClusterSettings
    processes: Processes
    cluster: Cluster


@contextmanager
def private_services(
    *, fsync: str = "everysec"
) -> Iterator[tuple[RabbitServer, RedisServer, PostgresServer]]:
    """Start one of each, and end them when the context is left."""
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as folder:
        rabbit, kept = start_rabbitmq()
        postgres = PostgresServer()
        store = RedisServer(Path(folder), fsync=fsync)
        try:
            yield rabbit, store, postgres
        finally:
            store.end()
            postgres.end()
            shutil.rmtree(postgres.folder, ignore_errors=True)
            kept.end()


@asynccontextmanager
async def bench(
    *, workers: int, queue_type: Any = "classic", schedulers: int = 1, masters: int = 1
) -> AsyncIterator[Bench]:
    """Start private services and processes on them; all of it ends with the context."""
    with private_services() as (rabbit, store, postgres), tempfile.TemporaryDirectory() as folder:
        settings = ClusterSettings(
            rabbitmq_url=rabbit.new_host(),
            redis_url=store.url,
            postgres_url=postgres.new_database(),
            queue_type=queue_type,
        )
        processes = Processes(settings, Path(folder))
        try:
            async with open_cluster(settings) as cluster:
                counts = {"worker": workers, "scheduler": schedulers, "master": masters}
                for kind, count in counts.items():
                    for number in range(1, count + 1):
                        processes.start(f"{kind}-{number}")
                await asyncio.to_thread(processes.until_ready, sum(counts.values()))
                yield Bench(rabbit, store, postgres, settings, processes, cluster)
        finally:
            processes.stop()


def compiled(document: dict[str, Any]) -> Any:
    """Return the program of a document."""
    return compile_source(parse_definition(document).source)


async def started(cluster: Cluster, program: Any, given: Any = None) -> str:
    """Start a run and return its id."""
    return await cluster.starter().start(program, program.document.source, given)


async def ending(cluster: Cluster, run: str, *, within_s: float, look_s: float = 0.02) -> bytes:
    """Return the completion of a run, as the store has it."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        execution = await cluster.store.execution(run)
        if execution is not None and execution.completion is not None:
            return execution.completion
        await asyncio.sleep(look_s)
    raise TimeoutError(f"{run} has not ended after {within_s:g} s")


def _memory(pid: int) -> tuple[float, float]:
    """Return the memory of a process in MB, now and at its peak."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0, 0.0
    sizes = {
        name: int(size) / 1024 for name, size in re.findall(r"^(Vm\w+):\s+(\d+) kB", text, re.M)
    }
    return sizes.get("VmRSS", 0.0), sizes.get("VmHWM", 0.0)


def _loaded(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


def _until(happened: Any, what: str) -> None:
    until = time.monotonic() + START_S
    while not happened():
        if time.monotonic() > until:
            raise RuntimeError(f"{what} did not start within {START_S} s")
        time.sleep(0.02)
