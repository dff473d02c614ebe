"""A sink for events: a file that gets each of them as a line of JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from onward.ports.nodes.outside import OutsideError


class EventFile:
    """Appends events to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def __call__(self, event: Mapping[str, Any]) -> None:
        """Append an event; OutsideError when the file cannot be written."""
        await asyncio.to_thread(self._write, msgspec.json.encode(event) + b"\n")

    def _write(self, line: bytes) -> None:
        try:
            with self._path.open("ab") as file:
                file.write(line)
        except OSError as problem:
            raise OutsideError(f"{self._path}: {problem.strerror}", "EVENT_SINK") from None
