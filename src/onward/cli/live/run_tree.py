"""A run drawn as a tree: each node with its state in a sign, a colour and a word."""

from __future__ import annotations

from rich.console import Console, Group, OverflowMethod, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from onward.cli.live.run_progress import NodeProgress, RunProgress, State
from onward.cli.output.durations import seconds
from onward.kernel.messages import RunMessage
from onward.languages.graph.model import Document

_SIGNS: dict[State, tuple[str, str, str]] = {
    # unicode, plain, colour
    "pending": ("·", ".", "dim"),
    "running": ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "-\\|/", "cyan"),
    "waiting": ("◷", "~", "yellow"),
    "retrying": ("↻", "r", "yellow"),
    "done": ("✓", "+", "green"),
    "partly": ("!", "!", "yellow"),
    "failed": ("✗", "x", "red"),
    "skipped": ("–", " ", "dim"),
    "stopped": ("■", "#", "red"),
}
_BUSY: tuple[State, ...] = ("running", "retrying", "waiting", "stopped")
_ENDED: tuple[State, ...] = ("done", "partly", "failed")
_LABEL_WIDTH = 36
_WORD_WIDTH = 18
_TIME_WIDTH = 9
_BAR_WIDTH = 24
_REASON_WIDTH = 16
"""Less room than this for a reason says nothing."""
_FRAME_MS = 100


class RunTree:
    """Draws one run."""

    def __init__(self, document: Document) -> None:
        self.watch = RunProgress(document)
        labels = [len(_label(node)) for node in self.watch.nodes.values()]
        self._label_width = min(_LABEL_WIDTH, max(labels, default=0) + 4)

    def see(self, message: RunMessage) -> None:
        """Take note of one message."""
        self.watch.see(message)

    def stop(self) -> None:
        """Nothing more will be seen, also when the run has not ended."""
        self.watch.stopped = True

    def draw(self, now_ms: int, console: Console, *, rows: int | None = None) -> Group:
        """Return the run as it stands at `now_ms`, in at most `rows` rows for its nodes.

        When there is not room for every node, those where something happens are shown.
        """
        plain = plain_signs(console)
        overflow: OverflowMethod = "crop" if plain else "ellipsis"
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True, overflow=overflow, width=self._label_width)
        table.add_column(no_wrap=True, width=_WORD_WIDTH)
        table.add_column(no_wrap=True, width=_TIME_WIDTH, justify="right")
        room = max(20, console.width - self._label_width - _WORD_WIDTH - _TIME_WIDTH - 8)
        table.add_column(no_wrap=True, overflow=overflow, max_width=room)
        shown, hidden = _chosen(self.watch, rows)
        for entry in shown:
            table.add_row(*_row(self.watch, entry, now_ms, room, plain=plain))
        parts: list[RenderableType] = [_head(self.watch, now_ms, plain=plain), table]
        if hidden:
            parts.append(_rest(self.watch, hidden, plain=plain))
        return Group(*parts)


def plain_signs(console: Console) -> bool:
    """Return whether the terminal can only show ASCII."""
    return console.options.ascii_only


def sign(state: State, now_ms: int, *, plain: bool) -> Text:
    """Return the sign of a state in its colour; of a running one it turns with time."""
    full, simple, colour = _SIGNS[state]
    frames = simple if plain else full
    return Text(frames[now_ms // _FRAME_MS % len(frames)], style=colour)


def state_of_run(watch: RunProgress) -> State:
    """Return the state of the run itself."""
    if watch.ending is None:
        return "stopped" if watch.stopped else "running"
    return "done" if watch.ending.status == "completed" else "failed"


def _head(watch: RunProgress, now_ms: int, *, plain: bool) -> Text:
    state = state_of_run(watch)
    word = state if watch.ending is None else watch.ending.status
    return Text.assemble(
        sign(state, now_ms, plain=plain),
        " ",
        (watch.title, "bold"),
        f"  {word} {seconds(watch.span_ms(now_ms))}",
        (f"  {watch.execution_id}", "dim"),
    )


def _label(entry: NodeProgress) -> str:
    named = entry.node.name and entry.node.name != entry.node.id
    label = f"{entry.node.id} {entry.node.name}" if named else entry.node.id
    return "   " * len(entry.splits) + label


def _row(
    watch: RunProgress, entry: NodeProgress, now_ms: int, room: int, *, plain: bool
) -> list[RenderableType]:
    state = watch.state_of(entry)
    guide = ("|  " if plain else "│  ") * len(entry.splits)
    label = Text.assemble((f"  {guide}", "dim"), sign(state, now_ms, plain=plain), " ")
    label.append(entry.node.id, style="dim" if state in ("pending", "skipped") else "")
    label.append(_label(entry).strip()[len(entry.node.id) :], style="dim")
    span = entry.span_ms(now_ms) if watch.ending is None or entry.ended else None
    time = Text(seconds(span) if span is not None else "", style="dim")
    return [label, _word(watch, entry, state, now_ms), time, _detail(watch, entry, state, room)]


def _word(watch: RunProgress, entry: NodeProgress, state: State, now_ms: int) -> Text:
    colour = _SIGNS[state][2]
    left_ms = None if entry.until_ms is None else max(0, entry.until_ms - now_ms)
    match state:
        case "pending":
            return Text("not started", style=colour)
        case "skipped":
            done = watch.ending is not None and watch.ending.status == "completed"
            return Text("not taken" if done else "not reached", style=colour)
        case "retrying" if left_ms is not None and entry.retrying == 1:
            return Text(f"retry in {_countdown(left_ms)}", style=colour)
        case "waiting" if left_ms is not None and entry.waiting == 1 and entry.node.type == "try":
            return Text(f"retry in {_countdown(left_ms)}", style=colour)
        case "waiting" if left_ms is not None and entry.waiting == 1:
            return Text(f"waiting {_countdown(left_ms)}", style=colour)
        case "waiting" if entry.node.type == "listen":
            return Text("listening", style=colour)
        case "partly":
            return Text("partly failed", style=colour)
        case _:
            return Text(state, style=colour)


def _countdown(left_ms: int) -> str:
    return f"{left_ms / 1000:.1f} s" if left_ms < 1_000 else seconds(left_ms)


def _detail(watch: RunProgress, entry: NodeProgress, state: State, room: int) -> RenderableType:
    """Return what there is to say beyond the state: progress, counts, attempts, the error."""
    progress = entry.progress
    if entry.node.type == "aggregator" and progress.total:
        return _bar(progress.processed, progress.total, progress.failed)
    parts: list[tuple[str, str] | str] = []
    if entry.node.type == "merge" and state == "waiting":
        parts.append(f"{progress.processed} of {progress.total} branches")
    if entry.node.type == "fork" and state == "waiting":
        branches = watch.branches_of(entry)
        ended = sum(watch.state_of(branch) in _ENDED for branch in branches)
        parts.append(f"{ended} of {len(branches)} branches ended")
    if entry.node.type == "split" and entry.items:
        parts.append(f"{entry.items:,} items")
    elif entry.visits + entry.running + entry.waiting + entry.retrying > 1:
        parts += _counts(entry)
    elif entry.attempt > 1:
        parts.append(f"attempt {entry.attempt}")
    text = Text(style="dim")
    for part in parts:
        text.append(", " if text else "")
        text.append(*(part if isinstance(part, tuple) else (part,)))
    left = room - len(text) - 2
    if entry.error is not None and (entry.failed or entry.retrying) and left >= _REASON_WIDTH:
        message = shortened(" ".join(entry.error.message.split()), left)
        text.append(", " if text else "").append(message, style="not dim red")
    return text


def shortened(text: str, width: int) -> str:
    """Return `text` with its middle left out when it is too long: reasons stand at the end."""
    if len(text) <= width:
        return text
    head = width // 3 if width >= 60 else 0
    tail = text[len(text) - (width - head - 4) :]
    return f"{text[:head]} ... {tail}" if head else f"... {tail}"


def _counts(entry: NodeProgress) -> list[tuple[str, str] | str]:
    counts: list[tuple[str, str] | str] = []
    if entry.succeeded:
        counts.append(f"{entry.succeeded:,} done")
    if entry.failed:
        counts.append((f"{entry.failed:,} failed", "not dim red"))
    if entry.retrying:
        counts.append((f"{entry.retrying:,} to try again", "not dim yellow"))
    if entry.waiting:
        counts.append((f"{entry.waiting:,} waiting", "not dim yellow"))
    if entry.running:
        counts.append((f"{entry.running:,} running", "not dim cyan"))
    return counts


def _bar(processed: int, total: int, failed: int) -> Table:
    row = Table.grid(padding=(0, 1, 0, 0))
    text = Text(f"{processed:,}/{total:,}")
    if failed:
        text.append(f"  {failed:,} failed", style="red")
    bar = ProgressBar(total=total, completed=processed, width=_BAR_WIDTH)
    row.add_row(bar, text)
    return row


def _chosen(watch: RunProgress, rows: int | None) -> tuple[list[NodeProgress], list[NodeProgress]]:
    nodes = list(watch.nodes.values())
    if rows is None or len(nodes) <= rows:
        return nodes, []
    ranked = sorted(nodes, key=lambda entry: _rank(watch.state_of(entry)))
    chosen = {entry.node.id for entry in ranked[: max(1, rows - 1)]}
    shown = [node for node in nodes if node.node.id in chosen]
    return shown, [node for node in nodes if node.node.id not in chosen]


def _rank(state: State) -> int:
    if state in _BUSY:
        return 0
    return {"failed": 1, "partly": 1, "pending": 2}.get(state, 3)


def _rest(watch: RunProgress, hidden: list[NodeProgress], *, plain: bool) -> Text:
    states = [watch.state_of(entry) for entry in hidden]
    counts = {state: states.count(state) for state in dict.fromkeys(states)}
    words = ", ".join(f"{count} {state}" for state, count in counts.items())
    return Text(f"  {'...' if plain else '…'} and {words}", style="dim")
