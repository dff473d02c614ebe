"""Several processes under one parent: one to start, one to signal, one exit code.

The parent only supervises: a child that dies is started again, signals are forwarded, and when the
parent itself is killed its children end at once, since each holds a pipe whose other end only the
parent has.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import threading
import time
from dataclasses import dataclass, field

from onward.cli import exit_codes
from onward.cli.engines.process import LONGEST_PAUSE_S

_FIRST_PAUSE_S = 1.0
_STOPS = (signal.SIGTERM, signal.SIGINT)
_LOG = logging.getLogger("onward")


@dataclass(frozen=True, slots=True)
class ChildProcess:
    """This process is the child of that number, counted from 0."""

    number: int


@dataclass(slots=True)
class _Child:
    """One of the children that should be running."""

    began: float = 0.0
    again_at: float = 0.0
    pause_s: float = _FIRST_PAUSE_S


def supervise(count: int, name: str) -> ChildProcess | int:
    """Keep `count` copies of this process running; return twice: in each child, and at the end.

    In a child it returns at once, and the caller continues as if it were alone. In the parent it
    returns the exit code: 0 when all ended well after a signal, else that of a child that did not.
    A child that gives up (code 7) or was started wrongly (code 2) ends all of them.

    Call it before there are threads or an event loop.
    """
    return _Parent(count, name).run()


@dataclass(slots=True)
class _Parent:
    count: int
    name: str
    children: dict[int, _Child] = field(default_factory=dict)
    alive: dict[int, int] = field(default_factory=dict)
    """Process id -> number."""
    code: int = 0
    stopping: bool = False
    lifeline: tuple[int, int] = (-1, -1)
    wake: tuple[int, int] = (-1, -1)

    def run(self) -> ChildProcess | int:
        self.lifeline, self.wake = os.pipe(), os.pipe()
        os.set_blocking(self.wake[0], False)
        os.set_blocking(self.wake[1], False)
        self.children = {number: _Child() for number in range(self.count)}
        for watched in (*_STOPS, signal.SIGCHLD):
            signal.signal(watched, lambda *_: None)
        signal.set_wakeup_fd(self.wake[1], warn_on_full_buffer=False)
        while True:
            started = self._start_missing()
            if started is not None:
                return started
            if self.stopping and not self.alive:
                return self.code
            for number in self._signals():
                if number in _STOPS:
                    self._forward_signal(number)
            self._reap()

    def _start_missing(self) -> ChildProcess | None:
        running = set(self.alive.values())
        for number, child in self.children.items():
            if self.stopping or number in running or child.again_at > time.monotonic():
                continue
            if self._fork(number, child):
                return ChildProcess(number)
        return None

    def _fork(self, number: int, child: _Child) -> bool:
        """Start a child; True in the child."""
        sys.stdout.flush()
        sys.stderr.flush()
        child.began = time.monotonic()
        watched = {*_STOPS, signal.SIGCHLD}
        signal.pthread_sigmask(signal.SIG_BLOCK, watched)
        try:
            process = os.fork()
            if process == 0:
                self._become_child(watched)
                return True
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, watched)
        self.alive[process] = number
        _LOG.info("%s %d: started as process %d", self.name, number, process)
        return False

    def _become_child(self, watched: set[signal.Signals]) -> None:
        signal.set_wakeup_fd(-1)
        for number in watched:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for descriptor in (*self.wake, self.lifeline[1]):
            os.close(descriptor)
        # A group of its own: Ctrl-C is the parent's to forward, or each child would get it twice.
        os.setpgid(0, 0)
        threading.Thread(target=_end_with_parent, args=(self.lifeline[0],), daemon=True).start()

    def _signals(self) -> bytes:
        """Wait for signals, or for the time to start a child again."""
        timeout = None
        if not self.stopping and len(self.alive) < self.count:
            running = set(self.alive.values())
            waiting = [
                child.again_at for number, child in self.children.items() if number not in running
            ]
            timeout = max(0.0, min(waiting) - time.monotonic())
        select.select([self.wake[0]], [], [], timeout)
        try:
            return os.read(self.wake[0], 4096)
        except BlockingIOError:
            return b""

    def _forward_signal(self, number: int) -> None:
        self.stopping = True
        for process in self.alive:
            os.kill(process, number)

    def _reap(self) -> None:
        """Collect the children that have ended, and note when to start them again."""
        for process in tuple(self.alive):
            gone, status = os.waitpid(process, os.WNOHANG)
            if gone:
                number = self.alive.pop(process)
                code = os.waitstatus_to_exitcode(status)
                self._ended(number, process, code if code >= 0 else 128 - code)

    def _ended(self, number: int, process: int, code: int) -> None:
        if self.stopping:
            self.code = self.code or code
        elif code in (exit_codes.USAGE, exit_codes.UNREACHABLE):
            self.code = code
            self._forward_signal(signal.SIGTERM)
        else:
            child, now = self.children[number], time.monotonic()
            if now - child.began > LONGEST_PAUSE_S:
                child.pause_s = _FIRST_PAUSE_S
            child.again_at = now + child.pause_s
            _LOG.warning(
                "%s %d: process %d ended with code %d; starting another in %.0f s",
                self.name,
                number,
                process,
                code,
                child.pause_s,
            )
            child.pause_s = min(2 * child.pause_s, LONGEST_PAUSE_S)


def _end_with_parent(lifeline: int) -> None:
    os.read(lifeline, 1)  # nothing is ever written: it returns when the parent is gone
    _LOG.error("the parent process is gone: ending at once")
    # Safe at any moment: whatever was not acknowledged is delivered again.
    os._exit(exit_codes.FAILED)
