"""Keeps one service alive for as long as a test run lives, however the run ends.

    python keeper.py READY RUN_PID SIGNAL DIRECTORY COMMAND...

Closes the file descriptor READY when it can be terminated, and runs COMMAND in a process group of
its own; when the process RUN_PID is gone (or this one is
terminated), ends the whole group with SIGNAL, then by force, and removes DIRECTORY. Linux only.
"""

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import time

GRACE_S = 5
PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    ready, run_pid, ending, directory, *command = sys.argv[1:]
    # What a shell of the group leaves behind becomes ours to wait for, not a distant parent's.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    stopped, stop = os.pipe()
    signal.signal(signal.SIGTERM, lambda *_: os.write(stop, b"x"))
    run = os.pidfd_open(int(run_pid))
    os.close(int(ready))
    service = subprocess.Popen(command, process_group=0)
    served = os.pidfd_open(service.pid)
    select.select([run, served, stopped], [], [])
    end(service.pid, signal.Signals(int(ending)))
    service.wait()
    shutil.rmtree(directory, ignore_errors=True)
    return service.returncode


def end(group: int, ending: signal.Signals) -> None:
    """End every process of `group`: politely, then not; return when they are gone."""
    deadline = time.monotonic() + GRACE_S
    try:
        os.killpg(group, ending)
        while True:
            gone, _ = os.waitpid(-group, os.WNOHANG)
            if gone:
                continue
            if time.monotonic() > deadline:
                os.killpg(group, signal.SIGKILL)
            time.sleep(0.02)
    except (ProcessLookupError, ChildProcessError):
        return


if __name__ == "__main__":
    sys.exit(main())
