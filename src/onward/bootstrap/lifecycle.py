"""Wiring what tells of the lifecycle of runs: to a URL, or into a file."""

from __future__ import annotations

from pathlib import Path

from onward.adapters.access.outlets import TableOutlets
from onward.adapters.access.tables import Tables
from onward.adapters.host.clock import HostChance, HostClock
from onward.adapters.host.event_file import EventFile
from onward.adapters.host.http import HostHttp
from onward.adapters.host.log import HostLog
from onward.errors import InputError
from onward.kernel.ids import derive
from onward.ports.archive import Archive
from onward.runtime.hub import HttpSink
from onward.runtime.lifecycle_publisher import LifecyclePublisher, Send


def check_sink(target: str) -> None:
    """Raise InputError unless events can be sent to a target at all."""
    if target.startswith(("http://", "https://")):
        return
    if not target.startswith("file:") or not _file(target).name:
        raise InputError(
            f"--lifecycle-events {target}: write an http:// or https:// URL, or file:PATH"
        )
    if not _file(target).parent.is_dir():
        raise InputError(f"--lifecycle-events {target}: there is no folder {_file(target).parent}")


async def tell_lifecycle(
    target: str, archive: Archive, tables: Tables, http: HostHttp, *, late_ms: int
) -> None:
    """Tell a target what happens to runs, until cancelled; any number of processes may do it."""
    send: Send = EventFile(_file(target))
    if not target.startswith("file:"):
        send = HttpSink(http, target)
    holder = HostChance().publish_id()
    outlets, clock = TableOutlets(tables), HostClock()
    publisher = LifecyclePublisher(
        archive, outlets, send, clock, HostLog(), holder, late_ms=late_ms
    )
    # Its name is no secret, and the target may hold one.
    await publisher.run(f"lifecycle-{derive(target)}")


def _file(target: str) -> Path:
    return Path(target.removeprefix("file:").removeprefix("//"))
