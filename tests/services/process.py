"""Private services as child processes: free ports, temporary directories, a keeper for each."""

import fcntl
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
LOCK_S = 120
"""How long an upgrade that the system does by itself may keep us from installing."""
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
    path = Path(tempfile.mkdtemp(prefix=f"onward-{name}-"))
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
    """Install a package of Debian or Ubuntu, or say what would help.

    As root it is installed, unless ONWARD_TEST_INSTALL=0. Other users need a sudo that asks for no
    password, and CI or ONWARD_TEST_INSTALL=1: whoever runs tests as themselves has not asked for
    it.
    """
    rights = _rights()
    if rights is None or shutil.which("apt-get") is None:
        raise MissingError(
            f"{package} is neither running nor installed: `sudo apt install {package}`, or run as"
            " root, or set ONWARD_TEST_INSTALL=1 where sudo asks for no password"
        )
    # One at a time: the workers of a run ask for several packages at once, and apt takes a lock.
    with Path(tempfile.gettempdir(), f"onward-install-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _install(package, rights)


def _install(package: str, rights: list[str]) -> None:
    say(f"installing {package} with apt-get")
    # RUNLEVEL: a package shall not start its service; ours are private, on free ports.
    apt = [*rights, "env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1", "apt-get"]
    apt += ["-o", f"DPkg::Lock::Timeout={LOCK_S}"]
    for words in (["update", "-q"], ["install", "-qy", "--no-install-recommends", package]):
        done = subprocess.run([*apt, *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise MissingError(f"apt-get {words[0]} failed: {done.stderr.strip()[-500:]}")


def _rights() -> list[str] | None:
    """Return what to put before a command that needs root; None when this run may not have it."""
    asked = os.environ.get("ONWARD_TEST_INSTALL")
    if asked == "0":
        return None
    if os.geteuid() == 0:
        return []
    if not (asked == "1" or os.environ.get("CI")) or shutil.which("sudo") is None:
        return None
    quiet = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ["sudo", "-n"] if quiet.returncode == 0 else None
