"""The live drawing: what a person sees at given moments of a run."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from onward.bootstrap.embedded import open_history
from onward.cli.commands.interrupted_runs import statuses
from onward.cli.live.run_list import RunList
from onward.cli.live.run_tree import RunTree, shortened
from onward.cli.live.screen import LivePicture, picture_of
from onward.cli.output.durations import seconds
from onward.kernel.lineage import Frame
from onward.kernel.messages import CompletionMessage, NodeStatusMessage, Progress
from onward.kernel.outcome import NodeError
from onward.kernel.timestamps import to_iso
from onward.languages.graph.document import parse
from onward.languages.graph.model import Document
from onward.languages.serverless.picture import picture_of as picture
from onward.languages.serverless.read.document import parse_definition as parse_tree

from .conftest import EXECUTABLE, Onward, node

START_MS = 1_800_000_000_000
ITEM = (Frame("each", "b", 0, 3, "s"),)


def workflow(*nodes: dict[str, Any], edges: tuple[str, ...] = ()) -> Document:
    pairs = [edge.split(">") for edge in edges]
    value = {
        "name": "Orders",
        "nodes": list(nodes),
        "edges": [{"src": src, "dst": dst} for src, dst in pairs],
    }
    return parse(msgspec.json.encode(value))


def status(name: str, word: Any, at_ms: int = 0, **more: Any) -> NodeStatusMessage:
    return NodeStatusMessage(
        workflow_id="w",
        execution_id="run_1",
        node_id=name,
        status=word,
        executed_at=to_iso(START_MS + at_ms),
        duration_ms=0,
        **more,
    )


def ending(word: Any, run: str = "run_1") -> CompletionMessage:
    return CompletionMessage(
        workflow_id="w",
        execution_id=run,
        status=word,
        final_context={},
        completed_at=to_iso(START_MS),
        total_duration_ms=9_100,
    )


def drawn(
    picture: LivePicture, at_ms: int, *, encoding: str = "utf-8", **options: Any
) -> list[str]:
    screen = type("Screen", (StringIO,), {"encoding": encoding})()
    console = Console(file=screen, width=100, force_terminal=True, color_system=None)
    console.print(picture.draw(START_MS + at_ms, console, **options))
    # How far apart the columns are is not what these tests are about.
    return [re.sub(r"(?<=\S) {2,}", "  ", line).rstrip() for line in screen.getvalue().splitlines()]


FAN = workflow(
    node("start", "manual_trigger"),
    node("each", "split", input_array=[1, 2, 3]),
    node("work", "noop"),
    node("all", "aggregator"),
    node("end", "noop"),
    edges=("start>each", "each>work", "work>all", "all>end"),
)


def fan(*news: NodeStatusMessage | CompletionMessage) -> RunTree:
    tree = RunTree(FAN)
    for new in news:
        tree.see(new)
    return tree


BEGUN = (
    status("start", "running"),
    status("start", "success", 5),
    status("each", "running", 5),
    status("each", "waiting", 5, details={"items": 3}),
)


def test_nodes_are_in_graph_order_with_what_a_split_repeats_below_it():
    assert [
        "⠋ Orders  running 0 ms",
        "  · start  not started",
        "  · each  not started",
        "  │  · work  not started",
        "  · all  not started",
        "  · end  not started",
    ] == drawn(RunTree(FAN), 0)


def test_a_split_is_counted_not_listed():
    tree = fan(
        *BEGUN,
        *(status("work", "running", 10, lineage_stack=ITEM) for _ in range(10_000)),
        *(status("work", "success", 20, lineage_stack=ITEM) for _ in range(4_497)),
        *(status("work", "failed", 20, error=NodeError("torn", "E")) for _ in range(3)),
        status("all", "waiting", 20, progress=Progress(4_500, 10_000, 3)),
    )

    assert [
        "⠙ Orders  running 1.1 s  run_1",
        "  ✓ start  done  5 ms",
        "  ◷ each  waiting  1.1 s  3 items",
        "  │  ⠙ work  running  1.1 s  4,497 done, 3 failed, 5,500 running, torn",
        "  ◷ all  waiting  1.1 s  ━━━━━━━━━━╸  4,500/10,000  3 failed",
        "  · end  not started",
    ] == drawn(tree, 1_100)


def test_when_the_run_is_over_every_node_says_how_it_was():
    tree = fan(
        *BEGUN,
        status("work", "running", 10),
        status("work", "success", 20),
        status("work", "running", 20),
        status("work", "failed", 30, error=NodeError("torn", "E")),
        status("all", "waiting", 30, progress=Progress(2, 3, 1)),
        status("each", "success", 40, details={"items": 3}),
        status("all", "success", 40, progress=Progress(3, 3)),
        ending("completed"),
    )

    assert [
        "✓ Orders  completed 9.1 s  run_1",
        "  ✓ start  done  5 ms",
        "  ✓ each  done  35 ms  3 items",
        "  │  ! work  partly failed  20 ms  1 done, 1 failed, torn",
        "  ✓ all  done  10 ms  ━━━━━━━━━━━━━━━━━━━━━━━━ 3/3  1 failed",
        "  – end  not taken",
    ] == drawn(tree, 50_000)


def test_what_was_going_on_when_a_run_failed_is_stopped():
    lines = drawn(fan(*BEGUN, ending("halted")), 0)

    assert "✗ Orders  halted 9.1 s  run_1" == lines[0]
    assert lines[2].startswith("  ■ each  stopped")
    assert "  – end  not reached" == lines[5]


def alone(kind: str, *news: NodeStatusMessage, at_ms: int) -> str:
    parameters = {"wait": {"amount": 1}}.get(kind, {})
    tree = RunTree(workflow({**node("one", kind, **parameters), "name": "The one"}))
    for message in news:
        tree.see(message)
    return drawn(tree, at_ms)[1]


def test_a_wait_counts_down():
    news = (
        status("one", "running"),
        status("one", "waiting", metadata={"resume_at": START_MS + 5_000}),
    )

    assert "  ◷ one The one  waiting 3.8 s  1.2 s" == alone("wait", *news, at_ms=1_200)


def test_a_retry_counts_down_and_then_tells_its_attempt():
    error = NodeError("the line\nwas busy", "E")
    again = {"retry_at": START_MS + 2_000, "next_attempt": 2}
    news = [status("one", "running"), status("one", "failed", error=error, metadata=again)]

    paused = alone("noop", *news, at_ms=500)
    news.append(status("one", "running", 2_000, attempt=2))
    running = alone("noop", *news, at_ms=2_500)

    assert "  ↻ one The one  retry in 1.5 s  500 ms  the line was busy" == paused
    assert "  ⠴ one The one  running  2.5 s  attempt 2" == running


def test_a_merge_says_how_many_branches_it_waits_for():
    news = status("one", "waiting", details={"arrived": 1, "expected": 2})

    assert alone("merge", news, at_ms=0).endswith("waiting  0 ms  1 of 2 branches")


def test_a_terminal_without_unicode_gets_plain_signs():
    lines = drawn(fan(*BEGUN), 0, encoding="ascii")

    assert "  + start  done  5 ms" == lines[1]
    assert all(line.isascii() for line in lines)


def test_where_room_is_short_what_happens_is_shown():
    many = workflow(*(node(f"n{i:02}", "noop") for i in range(40)))
    tree = RunTree(many)
    for i in range(20):
        tree.see(status(f"n{i:02}", "running"))
        tree.see(status(f"n{i:02}", "success"))
    tree.see(status("n30", "running"))

    lines = drawn(tree, 0, rows=4)

    assert "  ⠋ n30  running  0 ms" in lines
    assert (5, "  … and 20 done, 17 pending") == (len(lines), lines[-1])


def test_drawing_does_not_depend_on_how_many_items_there_were():
    tree = fan(*BEGUN)
    for _ in range(50_000):
        tree.see(status("work", "running", lineage_stack=ITEM))
        tree.see(status("work", "success", lineage_stack=ITEM))

    assert 6 == len(drawn(tree, 0))
    assert 50_000 == tree.watch.nodes["work"].succeeded


def test_a_resumed_run_shows_what_was_done_before(quick: Onward, document):
    file = document(
        "again.json",
        node("each", "split", input_array=[0, 1]),
        {
            **node(
                "work",
                "transform",
                expression='if $execution.attempt < 2 then error("busy") else $item end',
            ),
            "retry": {"max_attempts": 2, "delay": 0.001},
        },
        node("all", "aggregator"),
        edges=("each>work", "work>all"),
    )
    quick("run", file, "--id", "r1")
    tree = RunTree(parse(file.read_bytes()))

    with open_history(Path(".onward/onward.db")) as history:
        before = list(history.node_runs("r1"))
    for status in statuses(before[:-2], parse(file.read_bytes())):  # without its end
        tree.see(status)

    each, work = (tree.watch.nodes[name] for name in ("each", "work"))
    assert (2, 0, 0, 2) == (work.succeeded, work.failed, work.retrying, work.attempt)
    assert ("waiting", 2) == (tree.watch.state_of(each), each.items)


def test_a_run_that_was_stopped_says_so():
    tree = fan(*BEGUN)

    tree.stop()

    assert "■ Orders  stopped 5 ms  run_1" == drawn(tree, 5)[0]


def test_several_runs_are_a_list():
    fleet = picture_of([FAN, FAN])
    assert isinstance(fleet, RunList)
    fleet.see(status("start", "success"))
    fleet.see(ending("failed", "run_2"))

    assert [
        "⠋  w  running  2.0 s  1 nodes done  run_1",
        "✗  w  failed  9.1 s  0 nodes done  run_2",
    ] == drawn(fleet, 2_000)


def test_reasons_stand_at_the_end_so_the_middle_is_left_out():
    assert "short" == shortened("short", 20)
    assert "... the label is torn" == shortened("a long expression: the label is torn", 21)


@pytest.mark.parametrize(
    ("duration_ms", "words"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1.0 s"),
        (61_000, "1 min 01 s"),
        (3_660_000, "1 h 01 min"),
        (90_000_000, "1 d 01 h"),
    ],
)
def test_durations_are_in_their_natural_unit(duration_ms: int, words: str):
    assert words == seconds(duration_ms)


def test_on_a_terminal_the_run_is_drawn_and_the_output_stays_clean(document, here: Path):
    file = document(
        "log.json", node("a", "log", message="hear me"), node("b", "noop"), edges=("a>b",)
    )
    terminal, side = pty.openpty()
    process = subprocess.Popen(
        [EXECUTABLE, "run", file],
        stdout=subprocess.PIPE,
        stderr=side,
        env={**os.environ, "TERM": "xterm", "PYTHONIOENCODING": "utf-8"},
    )
    os.close(side)
    seen = b""
    while chunk := _read(terminal):
        seen += chunk
    out, _ = process.communicate(timeout=60)
    os.close(terminal)

    assert (0, b"{}\n") == (process.returncode, out)
    text = seen.decode()
    assert "✓ a" in text
    assert "✓ b" in text
    assert "INFO hear me" in text
    assert "completed in " in text
    assert "\x1b[32m" not in text  # NO_COLOR


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side is closed
        return b""


def test_a_tree_shows_branches_that_ended_retries_and_listens() -> None:
    nap = {"wait": "PT1H"}
    heard = {"listen": {"to": {"any": [], "until": "length == 9"}}}
    retried = {"try": [{"x": nap}], "catch": {"retry": {"delay": "PT1H"}}}
    branches = [{"a": nap}, {"b": retried}, {"c": heard}]
    value = {
        "document": {"dsl": "1.0.3", "namespace": "n", "name": "tree", "version": "1.0.0"},
        "do": [{"f": {"fork": {"branches": branches}}}],
    }
    tree = RunTree(picture(parse_tree(value)))
    a, b, c = (f"/do/0/f/fork/branches/{one}" for one in ("0/a", "1/b", "2/c"))
    at = {name: (Frame("/do/0/f", "b", index, 3, "s"),) for index, name in enumerate((a, b, c))}
    due = {"resume_at": START_MS + 9_000}
    tree.see(status("/do/0/f", "waiting", details={"branches": 3}))
    tree.see(status(a, "success", lineage_stack=at[a]))
    for number in (1, 2):
        again = {"retry": number}
        tree.see(status(b, "waiting", lineage_stack=at[b], metadata=due, details=again))
        tree.see(status(c, "waiting", lineage_stack=at[c], metadata={"signal": "event:"}))

    rows = {line.split()[1]: line for line in drawn(tree, 1_000)[1:]}

    assert "waiting  1.0 s  1 of 3 branches ended" in rows["/do/0/f"]
    assert "retry in 8.0 s" in rows[b]
    assert "attempt 3" in rows[b]
    assert "listening" in rows[c]
    for name in (b, c):
        tree.see(status(name, "success", lineage_stack=at[name]))
    rows = {line.split()[1]: line for line in drawn(tree, 1_000)[1:]}
    assert "3 of 3 branches ended" in rows["/do/0/f"]
    assert "done" in rows[b]
    assert "done" in rows[c]
