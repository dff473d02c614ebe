"""Several runs drawn as a list: a line for each."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from onward.cli.live.run_progress import State
from onward.cli.live.run_tree import plain_signs, sign
from onward.cli.output.durations import seconds
from onward.kernel.messages import CompletionMessage, RunMessage
from onward.kernel.timestamps import from_iso


@dataclass(slots=True)
class _Run:
    workflow: str
    began: str = ""
    finished: int = 0
    failed: int = 0
    ending: CompletionMessage | None = None


class RunList:
    """What is known about several runs, folded from their messages."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}
        self._stopped = False

    def see(self, message: RunMessage) -> None:
        """Take note of one message."""
        run = self._runs.setdefault(message.execution_id, _Run(message.workflow_id))
        if isinstance(message, CompletionMessage):
            run.ending = message
            return
        run.began = run.began or message.executed_at
        run.finished += message.status == "success"
        run.failed += message.status == "failed"

    def stop(self) -> None:
        """Nothing more will be seen: what has not ended is stopped."""
        self._stopped = True

    def draw(self, now_ms: int, console: Console, *, rows: int | None = None) -> Group:
        """Return the list as it stands at `now_ms`, the unfinished first when room is short."""
        table = Table.grid(padding=(0, 2, 0, 0))
        runs = sorted(self._runs.items(), key=lambda pair: pair[1].ending is not None)
        shown = runs if rows is None or len(runs) <= rows else runs[: max(1, rows - 1)]
        for name, run in shown:
            state: State = "stopped" if self._stopped else "running"
            if run.ending is not None:
                state = "done" if run.ending.status == "completed" else "failed"
            icon = sign(state, now_ms, plain=plain_signs(console))
            table.add_row(icon, *_row(name, run, state, now_ms))
        parts: list[RenderableType] = [table]
        if len(shown) < len(runs):
            parts.append(Text(f"  and {len(runs) - len(shown)} more", style="dim"))
        return Group(*parts)


def _row(name: str, run: _Run, state: State, now_ms: int) -> list[RenderableType]:
    failed = Text(f"{run.failed} failed" if run.failed else "", style="red")
    done = Text(f"{run.finished:,} nodes done", style="dim")
    if run.ending is None:
        word: str = state
        took_ms = max(0, now_ms - from_iso(run.began)) if run.began else 0
    else:
        word, took_ms = run.ending.status, run.ending.total_duration_ms
    return [Text(run.workflow), Text(word), Text(seconds(took_ms)), done, failed, Text(name)]
