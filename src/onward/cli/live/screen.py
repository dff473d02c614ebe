"""The live drawing of runs on a terminal.

Drawing shares the engine's loop and never takes more than a twentieth of it: when a drawing is
slow, the next one comes later. Log lines are buffered until then and printed above in one go.
"""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Sequence
from typing import Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from onward.bootstrap.host import configure_log, now_ms
from onward.cli.live.run_list import RunList
from onward.cli.live.run_tree import RunTree
from onward.kernel.messages import RunMessage
from onward.languages.graph.model import Document

_SHORTEST_PAUSE_S = 0.1
_LOOP_SHARE = 20


class LivePicture(Protocol):
    """Something that can be drawn at any time, from what it has seen so far."""

    def see(self, message: RunMessage) -> None:
        """Take note of one message."""
        ...

    def stop(self) -> None:
        """Nothing more will be seen."""
        ...

    def draw(self, now_ms: int, console: Console, *, rows: int | None = None) -> Group:
        """Return the drawing, in about `rows` rows; None is as many as it takes."""
        ...


def picture_of(documents: Sequence[Document]) -> LivePicture:
    """Return one run as a tree, several as a list."""
    return RunTree(documents[0]) if len(documents) == 1 else RunList()


class LiveScreen:
    """Draws a picture again and again until it is left."""

    def __init__(self, console: Console, picture: LivePicture, log_level: str) -> None:
        self.observe = picture.see
        self._console = console
        self._picture = picture
        self._log_level = log_level
        self._log = io.StringIO()
        self._whole = False
        self._live = Live(console=console, auto_refresh=False, get_renderable=self._draw)

    async def __aenter__(self) -> Self:
        configure_log(level=self._log_level, stream=self._log)
        self._live.start()
        self._refreshing = asyncio.create_task(self._refresh())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._refreshing.cancel()
        await asyncio.wait([self._refreshing])
        self._print_log()
        self._whole = True
        self._picture.stop()
        self._live.refresh()
        self._live.stop()
        configure_log(level=self._log_level, stream=sys.stderr)

    def _draw(self) -> Group:
        rows = None if self._whole else max(3, self._console.height - 3)
        return self._picture.draw(now_ms(), self._console, rows=rows)

    async def _refresh(self) -> None:
        time = asyncio.get_running_loop().time
        while True:
            started = time()
            self._print_log()
            self._live.refresh()
            await asyncio.sleep(max(_SHORTEST_PAUSE_S, _LOOP_SHARE * (time() - started)))

    def _print_log(self) -> None:
        lines = self._log.getvalue()
        if lines:
            self._log.seek(0)
            self._log.truncate()
            self._console.print(Text(lines.rstrip("\n")), soft_wrap=True)
