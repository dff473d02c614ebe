"""Private services as child processes: free ports, temporary directories, a keeper for each."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

KEEPER = Path(__file__).with_name("keeper.py")
START_S = 60
KEPT: "list[Kept]" = []
"""Held to the end of the run: a process object that is forgotten while it runs is a warning."""


class MissingError(Exception):
    """A service is neither running nor installed; the text says what would help."""


@dataclass(frozen=True)
class Kept:
    """A service that runs under a keeper."""

    process: subprocess.Popen[bytes]
    log: Path

    def end(self) -> None:
        """End the service and remove what it kept; return when both are done."""
        self.process.terminate()
        self.process.wait()


def say(text: str) -> None:
    """Tell the person at the terminal."""
    print(f"services: {text}", file=sys.stderr, flush=True)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def listening(port: int, host: str = "127.0.0.1") -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def room(name: str, owner: str | None = None) -> Path:
    """Return a new directory with a short path (a socket's may have 107 bytes)."""
    path = Path(tempfile.mkdtemp(prefix=f"weft-{name}-"))
    if owner is not None:
        account = pwd.getpwnam(owner)
        os.chown(path, account.pw_uid, account.pw_gid)
    return path


def program(name: str, *folders: str) -> str | None:
    """Return where a program is, looking in `folders` before the search path."""
    return next(
        (found for folder in folders if (found := shutil.which(name, path=folder))),
        shutil.which(name),
    )


def keep(
    command: Sequence[str],
    directory: Path,
    *,
    environment: Mapping[str, str] | None = None,
    run_pid: int | None = None,
    ending: signal.Signals = signal.SIGTERM,
) -> Kept:
    """Start `command` under a keeper that ends it with the process `run_pid` (or this one)."""
    log = directory / "output.log"
    ready, busy = os.pipe()
    arguments = [str(busy), str(run_pid or os.getpid()), str(int(ending)), str(directory)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, str(KEEPER), *arguments, *command],
            env={**os.environ, **(environment or {})},
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=[busy],
        )
    os.close(busy)
    os.read(ready, 1)  # nothing is written: it ends when the keeper can be relied on
    os.close(ready)
    kept = Kept(process, log)
    KEPT.append(kept)
    return kept


def wait_until(ready: Callable[[], bool], kept: Kept, name: str) -> None:
    """Return when `ready()`; raise with the service's own words when it ended or took too long."""
    deadline = time.monotonic() + START_S
    while not ready():
        if kept.process.poll() is not None or time.monotonic() > deadline:
            said = kept.log.read_text(errors="replace")[-2000:] if kept.log.exists() else ""
            kept.process.terminate()
            raise RuntimeError(f"{name} did not start; it said:\n{said}")
        time.sleep(0.05)


def install(package: str) -> None:
    """Install a package of the system, where a run may do that: as root, in CI or when asked to."""
    allowed = os.environ.get("CI") or os.environ.get("WEFT_TEST_INSTALL") == "1"
    if os.geteuid() != 0 or not allowed or shutil.which("apt-get") is None:
        raise MissingError(
            f"{package} is not installed: install it, or run as root with WEFT_TEST_INSTALL=1"
        )
    say(f"installing {package} with apt-get")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    for words in (["update", "-q"], ["install", "-qy", "--no-install-recommends", package]):
        done = subprocess.run(
            ["apt-get", *words], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise MissingError(f"apt-get {words[0]} failed: {done.stderr.strip()[-500:]}")
