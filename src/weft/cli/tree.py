"""A run drawn as a tree: each node with its state in a sign, a colour and a word."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from weft.cli.durations import seconds
from weft.cli.watch import NodeWatch, State, Watch

_SIGNS: dict[State, tuple[str, str, str]] = {
    # unicode, plain, colour
    "pending": ("·", ".", "dim"),
    "running": ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "-\\|/", "cyan"),
    "waiting": ("◷", "~", "yellow"),
    "retrying": ("↻", "!", "yellow"),
    "done": ("✓", "+", "green"),
    "failed": ("✗", "x", "red"),
    "skipped": ("–", " ", "dim"),
    "stopped": ("■", "#", "red"),
}
_BUSY: tuple[State, ...] = ("running", "retrying", "waiting", "stopped")
_BAR_WIDTH = 24
_FRAME_MS = 100


def draw(watch: Watch, now_ms: int, console: Console, *, rows: int | None = None) -> Group:
    """Return the run as it stands at `now_ms`, in at most `rows` rows for its nodes.

    When there is not room for every node, those where something happens are shown.
    """
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=40)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(no_wrap=True, overflow="ellipsis")
    shown, hidden = _chosen(watch, rows)
    plain = plain_signs(console)
    for one in shown:
        table.add_row(*_row(watch, one, now_ms, plain=plain))
    parts: list[RenderableType] = [_head(watch, now_ms, plain=plain), table]
    if hidden:
        parts.append(_rest(watch, hidden, plain=plain))
    return Group(*parts)


def plain_signs(console: Console) -> bool:
    """Return whether the terminal can only show ASCII."""
    return console.options.ascii_only


def sign(state: State, now_ms: int, *, plain: bool) -> Text:
    """Return the sign of a state in its colour; of a running one it turns with time."""
    full, simple, colour = _SIGNS[state]
    frames = simple if plain else full
    return Text(frames[now_ms // _FRAME_MS % len(frames)], style=colour)


def state_of_run(watch: Watch) -> State:
    """Return the state of the run itself."""
    if watch.ending is None:
        return "running"
    return "done" if watch.ending.status == "completed" else "failed"


def _head(watch: Watch, now_ms: int, *, plain: bool) -> Text:
    word = "running" if watch.ending is None else watch.ending.status
    return Text.assemble(
        sign(state_of_run(watch), now_ms, plain=plain),
        " ",
        (watch.title, "bold"),
        f"  {word} {seconds(watch.span_ms(now_ms))}",
        (f"  {watch.execution_id}", "dim"),
    )


def _row(watch: Watch, one: NodeWatch, now_ms: int, *, plain: bool) -> list[RenderableType]:
    state = watch.state_of(one)
    quiet = state in ("pending", "skipped")
    guide = ("|  " if plain else "│  ") * one.depth
    label = Text.assemble((f"  {guide}", "dim"), sign(state, now_ms, plain=plain), " ")
    label.append(one.node.id, style="dim" if quiet else "")
    if one.node.name and one.node.name != one.node.id:
        label.append(f" {one.node.name}", style="dim")
    span = one.span_ms(now_ms) if watch.ending is None or one.ended else None
    time = Text(seconds(span) if span is not None else "", style="dim")
    return [label, _word(watch, one, state, now_ms), time, _detail(one, state)]


def _word(watch: Watch, one: NodeWatch, state: State, now_ms: int) -> Text:
    colour = _SIGNS[state][2]
    left_ms = None if one.until_ms is None else max(0, one.until_ms - now_ms)
    match state:
        case "pending":
            return Text("not started", style=colour)
        case "skipped":
            done = watch.ending is not None and watch.ending.status == "completed"
            return Text("not taken" if done else "not reached", style=colour)
        case "retrying" if left_ms is not None and one.retrying == 1:
            return Text(f"again in {seconds(left_ms)}", style=colour)
        case "waiting" if left_ms is not None and one.waiting == 1:
            return Text(f"waiting {seconds(left_ms)}", style=colour)
        case _:
            return Text(state, style=colour)


def _detail(one: NodeWatch, state: State) -> RenderableType:
    """Return what there is to say beyond the state: progress, counts, attempts, the error."""
    progress = one.progress
    if one.node.type == "aggregator" and progress.total:
        return _bar(progress.processed, progress.total, progress.failed)
    parts: list[tuple[str, str] | str] = []
    if one.node.type == "merge" and state == "waiting":
        parts.append(f"{progress.processed} of {progress.total} branches")
    if one.node.type == "split" and one.items:
        parts.append(f"{one.items:,} items")
    elif one.visits + one.running + one.waiting + one.retrying > 1:
        parts += _counts(one)
    if one.attempt > 1:
        parts.append(
            f"attempt {one.attempt}" if one.visits < 2 else f"up to {one.attempt} attempts"
        )
    if one.error is not None and (one.failed or one.retrying):
        parts.append((" ".join(one.error.message.split()), "red"))
    text = Text()
    for index, part in enumerate(parts):
        text.append(", " if index else "", style="dim")
        text.append(*(part if isinstance(part, tuple) else (part, "dim")))
    return text


def _counts(one: NodeWatch) -> list[tuple[str, str] | str]:
    counts: list[tuple[str, str] | str] = []
    if one.succeeded:
        counts.append(f"{one.succeeded:,} done")
    if one.failed:
        counts.append((f"{one.failed:,} failed", "red"))
    if one.retrying:
        counts.append((f"{one.retrying:,} to try again", "yellow"))
    if one.waiting:
        counts.append((f"{one.waiting:,} waiting", "yellow"))
    if one.running:
        counts.append((f"{one.running:,} running", "cyan"))
    return counts


def _bar(processed: int, total: int, failed: int) -> Table:
    row = Table.grid(padding=(0, 1, 0, 0))
    text = Text(f"{processed:,}/{total:,}")
    if failed:
        text.append(f"  {failed:,} failed", style="red")
    bar = ProgressBar(total=total, completed=processed, width=_BAR_WIDTH)
    row.add_row(bar, text)
    return row


def _chosen(watch: Watch, rows: int | None) -> tuple[list[NodeWatch], list[NodeWatch]]:
    nodes = list(watch.nodes.values())
    if rows is None or len(nodes) <= rows:
        return nodes, []
    ranked = sorted(nodes, key=lambda one: _rank(watch.state_of(one)))
    chosen = {one.node.id for one in ranked[: max(1, rows - 1)]}
    shown = [one for one in nodes if one.node.id in chosen]
    return shown, [one for one in nodes if one.node.id not in chosen]


def _rank(state: State) -> int:
    if state in _BUSY:
        return 0
    return {"failed": 1, "pending": 2}.get(state, 3)


def _rest(watch: Watch, hidden: list[NodeWatch], *, plain: bool) -> Text:
    states = [watch.state_of(one) for one in hidden]
    counts = {state: states.count(state) for state in dict.fromkeys(states)}
    words = ", ".join(f"{count} {state}" for state, count in counts.items())
    return Text(f"  {'...' if plain else '…'} and {words}", style="dim")
