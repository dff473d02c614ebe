"""Big fan-outs and many timers on a real cluster: time, memory, slow calls, promises.

    python benchmarks/scale.py fanout                 # 1,000, 10,000 and 100,000 items
    python benchmarks/scale.py nested                 # 300 x 300
    python benchmarks/scale.py concurrency            # max_concurrency while workers are killed
    python benchmarks/scale.py fairness               # small runs beside a split of 100,000 items
    python benchmarks/scale.py timers                 # 10,000 timers due at the same instant
    python benchmarks/scale.py million                # 1,000,000 pending timers

Each starts private services and real `onward` processes, says how far it is on standard error, and
prints a table (`--json`: one object for each line) on standard output. The exit code is 1 when a
promise is broken. Slow calls are those that Redis itself logs: 20 ms or more. Its log measures time
that passes, not work, so Redis goes before all other processes when this is run as root; and a
call counts as the machine's own pause when an idle process stood still as long in that second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import timing
from cluster import Bench, bench, compiled, ending, say, started

from support.documents import TRIGGER, node, transform, workflow
from support.standing_in import StandIn

SLOW_US = 20_000
PATIENCE_S = 900

Row = dict[str, Any]
Rows = AsyncIterator[Row]


class Watch:
    """What Redis went through while something ran: its memory, and the calls it found slow."""

    def __init__(self, at: Bench, pauses: Pauses) -> None:
        self._redis = at.cluster.redis
        self._pauses = pauses
        self.redis_mb = 0.0
        self.slow: list[tuple[float, str]] = []
        self.paused = 0

    async def look(self) -> None:
        """Take note, again and again, until cancelled."""
        while True:
            facts: Any = await self._redis.info("memory")
            self.redis_mb = max(self.redis_mb, facts["used_memory"] / 1e6)
            await asyncio.sleep(0.1)

    async def finish(self) -> None:
        """Read the slow calls."""
        entries: Any = await self._redis.slowlog_get(128)
        pauses = self._pauses.end()
        for entry in entries:
            took_ms, began_s = entry["duration"] / 1000, entry["start_time"]
            command = entry["command"].decode(errors="replace")[:60]
            still_ms = max((ms for at_s, ms in pauses if abs(at_s - began_s) <= 1), default=0.0)
            own = took_ms - still_ms >= SLOW_US / 1000
            say(f"  slow: {took_ms:.1f} ms {command} (the machine stood still {still_ms:.1f} ms)")
            if own:
                self.slow.append((took_ms, command))
            else:
                self.paused += 1


def first_in_line(pid: int) -> None:
    """Let a process go before all others, if we may: what it waits for is then not a core."""
    try:
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(50))
    except PermissionError:
        say("  not root: slow calls of Redis may be the machine's")


class Pauses:
    """A process that does nothing, and says when it was kept from doing it for 5 ms or more."""

    _SCRIPT = """
import time
before = time.monotonic()
while True:
    time.sleep(0.001)
    now = time.monotonic()
    if now - before > 0.006:
        print(time.time(), (now - before) * 1000 - 1, flush=True)
    before = now
"""

    def __init__(self) -> None:
        command = [sys.executable, "-c", self._SCRIPT]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        first_in_line(self._process.pid)

    def end(self) -> list[tuple[float, float]]:
        """Stop, and return when each pause ended and how many milliseconds it took."""
        self._process.kill()
        told, _ = self._process.communicate()
        words = (line.split() for line in told.splitlines())
        return [(float(at_s), float(ms)) for at_s, ms in words]


@asynccontextmanager
async def watched(at: Bench) -> AsyncIterator[Watch]:
    """Watch Redis for as long as the context lasts."""
    redis = at.cluster.redis
    server: Any = await redis.info("server")
    first_in_line(server["process_id"])
    await redis.config_set("slowlog-log-slower-than", SLOW_US)
    await redis.config_set("slowlog-max-len", 1000)
    await redis.slowlog_reset()
    watch = Watch(at, Pauses())
    looking = asyncio.create_task(watch.look())
    try:
        yield watch
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        await watch.finish()


def fan_out(limit: int | None = None) -> dict[str, Any]:
    """Return a split over the items that `items` makes, one node each."""
    return workflow(
        TRIGGER,
        node("each", "split", input_array="$trigger", max_concurrency=limit),
        transform("work", "$item.id * 2"),
        node("all", "aggregator"),
        transform("check", "[($all | length), $all[0], $all[-1]]"),
        "start -> each -> work -> all -> check",
        workflow_id="fan-out",
    )


def items(count: int) -> list[dict[str, Any]]:
    """Return items of about 100 bytes each."""
    return [{"id": number, "text": "x" * 80} for number in range(count)]


def grid() -> dict[str, Any]:
    """Return a split of `$trigger.outer` items, each a split of `$trigger.inner`."""
    return workflow(
        TRIGGER,
        node("outer", "split", input_array="{{ [range($trigger.outer)] }}"),
        node("inner", "split", input_array="{{ [range($trigger.inner)] }}"),
        transform("cell", "1"),
        node("row", "aggregator"),
        node("rows", "aggregator", collect="$row | add"),
        transform("check", "{length: ($rows | length), sum: ($rows | add)}"),
        "start -> outer -> inner -> cell -> row -> rows -> check",
        workflow_id="grid",
    )


def said(completion: bytes) -> tuple[str, Any]:
    """Return how a run ended, and what its last node said."""
    message = msgspec.json.decode(completion)
    return message["status"], message["final_context"].get("$check")


async def measured(at: Bench, document: dict[str, Any], given: Any, expected: Any) -> Row:
    """Run a document to its end, and return what that took."""
    began = time.monotonic()
    async with watched(at) as watch:
        run = await started(at.cluster, compiled(document), given)
        progress = asyncio.create_task(_progress(at, run))
        try:
            completion = await ending(at.cluster, run, within_s=PATIENCE_S)
        finally:
            progress.cancel()
        took_s = time.monotonic() - began
        left = await keys_left(at)
    found = said(completion)
    return {
        "seconds": round(took_s, 2),
        "worker MB": round(at.processes.memory_mb("worker")[1]),
        "master MB": round(at.processes.memory_mb("master")[1]),
        "redis MB": round(watch.redis_mb, 1),
        "slow calls": len(watch.slow),
        "pauses": watch.paused,
        "keys left": left,
        "ok": found == ("completed", expected) and not watch.slow and not left,
    }


async def keys_left(at: Bench) -> int:
    """Return how many keys there still are, tombstones aside, once the last are on their way."""
    for _ in range(50):
        keys = [key async for key in at.cluster.redis.scan_iter("*", count=1000)]
        left = sum(
            not key.endswith((b":done", b":format", b"workers:info", b"workers:seen"))
            for key in keys
        )
        if not left:
            break
        await asyncio.sleep(0.1)
    return left


async def _progress(at: Bench, run: str) -> None:
    while True:
        await asyncio.sleep(5)
        heads = [key async for key in at.cluster.redis.scan_iter("*:head", count=1000)]
        if heads:
            head: Any = await at.cluster.redis.hmget(heads[0], "filled", "total")
            filled, total = ((one or b"?").decode() for one in head)
            now, _ = at.processes.memory_mb("worker")
            say(f"  {filled} of {total} ({len(heads)} barriers), worker {now:.0f} MB")


async def fanout(args: argparse.Namespace) -> Rows:
    """Yield a line for each size; a cluster of its own for each, so that peaks are its own."""
    for size in args.sizes:
        async with bench(workers=args.workers, queue_type=args.queue_type) as at:
            say(f"fanout: {size:,} items")
            expected = [size, 0, 2 * (size - 1)]
            row = await measured(at, fan_out(args.limit), items(size), expected)
        yield {"items": size, **row, "items/s": round(size / row["seconds"])}


async def nested(args: argparse.Namespace) -> Rows:
    """Yield one line: a split of splits."""
    async with bench(workers=args.workers, queue_type=args.queue_type) as at:
        say(f"nested: {args.outer} x {args.inner}")
        expected = {"length": args.outer, "sum": args.outer * args.inner}
        given = {"outer": args.outer, "inner": args.inner}
        row = await measured(at, grid(), given, expected)
    items = args.outer * args.inner
    yield {"items": items, **row, "items/s": round(items / row["seconds"])}


async def concurrency(args: argparse.Namespace) -> Rows:
    """Yield one line: how many items were in flight at most while workers were killed."""
    async with bench(workers=args.workers, queue_type=args.queue_type) as at:
        async with StandIn(hold_s=args.hold) as server:
            began = time.monotonic()
            program = compiled(server.document(args.limit))
            run = await started(at.cluster, program, {"n": args.items})
            killing = asyncio.create_task(_killing(at, args.every))
            try:
                completion = await ending(at.cluster, run, within_s=PATIENCE_S)
            finally:
                killing.cancel()
            took_s = time.monotonic() - began
        expected = ("completed", args.items)
        yield {
            "items": args.items,
            "limit": args.limit,
            "most in flight": server.most,
            "requests": server.requests,
            "repeated": server.requests - args.items,
            "kills": at.processes.kills,
            "seconds": round(took_s, 1),
            "ok": server.most <= args.limit and said(completion) == expected,
        }


async def _killing(at: Bench, every_s: float) -> None:
    workers = [name for name in at.processes.running if name.startswith("worker")]
    while True:
        await asyncio.sleep(every_s)
        at.processes.kill(random.choice(workers))


def small() -> dict[str, Any]:
    """Return a workflow of three nodes."""
    return workflow(
        TRIGGER,
        transform("one", "$trigger.n + 1"),
        transform("check", "$one"),
        "start -> one -> check",
        workflow_id="small",
    )


async def fairness(args: argparse.Namespace) -> Rows:
    """Yield two lines: how long a run of three nodes takes, alone and beside a large split."""
    async with bench(workers=args.workers, queue_type=args.queue_type) as at:
        program = compiled(small())
        say("fairness: alone")
        yield _latencies("alone", await _small_runs(at, program, args.runs, None))
        say(f"fairness: beside {args.items:,} items")
        run = await started(at.cluster, compiled(fan_out()), items(args.items))
        if args.nested:
            given = {"outer": args.outer, "inner": args.inner}
            run = await started(at.cluster, compiled(grid()), given)
        progress = asyncio.create_task(_progress(at, run))
        beside = await _small_runs(at, program, args.beside, run)
        progress.cancel()
        yield _latencies("beside", beside)


def _latencies(name: str, samples: list[tuple[float, int]]) -> Row:
    ordered = sorted(took_s for took_s, _ in samples)
    return {
        "series": name,
        "runs": len(ordered),
        "p50 ms": round(1000 * ordered[len(ordered) // 2]),
        "p95 ms": round(1000 * ordered[int(len(ordered) * 0.95)]),
        "p100 ms": round(1000 * ordered[-1]),
        "items meanwhile p100": max(items for _, items in samples),
        "ok": ordered[-1] < 1.0,
    }


async def _small_runs(
    at: Bench, program: Any, count: int, beside: str | None
) -> list[tuple[float, int]]:
    """Return how long small runs took, and how many items of the split ended meanwhile.

    One starts every second until there were `count`, or until the run beside them has ended. The
    items say how fair it is however slow the machine is at the moment.
    """
    samples: list[tuple[float, int]] = []
    for number in range(count):
        if beside is not None:
            execution = await at.cluster.store.execution(beside)
            if execution is not None and execution.completion is not None:
                break
        before, began = await _filled(at, beside), time.monotonic()
        run = await started(at.cluster, program, {"n": number})
        await ending(at.cluster, run, within_s=120, look_s=0.005)
        took_s = time.monotonic() - began
        samples.append((took_s, max(0, await _filled(at, beside) - before)))
        if took_s > 1:
            say(f"  a small run took {took_s:.2f} s; {samples[-1][1]} items meanwhile")
        await asyncio.sleep(max(0.0, (0.2 if beside is None else 1.0) - took_s))
    return samples


async def _filled(at: Bench, run: str | None) -> int:
    """Return how many items of the outermost split of a run have ended."""
    if run is None:
        return 0
    pattern = f"exec:{{{run}}}:*:head"
    async for key in at.cluster.redis.scan_iter(pattern, count=1_000):
        filled: Any = await at.cluster.redis.hget(key, "filled")
        return int(filled or 0)
    return 0


async def timers(args: argparse.Namespace) -> Rows:
    """Yield one line: how late timers are that fall due together, with one scheduler."""
    async with bench(workers=0, masters=0) as at:
        say(f"timers: {args.count:,}")
        async with watched(at) as watch:
            row = await timing.at_once(at, args.count)
        yield {**row, "slow calls": len(watch.slow), "ok": row["ok"] and not watch.slow}


async def million(args: argparse.Namespace) -> Rows:
    """Yield one line: what timers cost that are not due."""
    async with bench(workers=0, masters=0) as at:
        say(f"million: {args.count:,}")
        async with watched(at) as watch:
            row = await timing.pending(at, args.count)
        yield {**row, "slow calls": len(watch.slow), "ok": row["ok"] and not watch.slow}


COMMANDS: dict[str, Callable[[argparse.Namespace], Rows]] = {
    "fanout": fanout,
    "nested": nested,
    "concurrency": concurrency,
    "fairness": fairness,
    "timers": timers,
    "million": million,
}


def table(rows: list[Row]) -> str:
    """Return rows as a table."""
    names = list(rows[0])
    lines = [names, *([_shown(row.get(name)) for name in names] for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(names))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:,}" if isinstance(value, int | float) else str(value)


async def main(args: argparse.Namespace) -> int:
    """Run one command and print what it found; 1 when a promise is broken."""
    rows = []
    async for row in COMMANDS[args.command](args):
        rows.append(row)
        if args.json:
            print(json.dumps(row), flush=True)
    if not args.json:
        print(table(rows))
    load = os.getloadavg()[0]
    say(f"load of the machine in the last minute: {load:.1f} on {os.cpu_count()} cores")
    return 0 if all(row["ok"] for row in rows) else 1


def arguments() -> argparse.Namespace:
    """Return what was asked for."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--workers", type=int, help="default: 1, or 3 where they are killed")
    shared.add_argument("--queue-type", choices=["classic", "quorum"], default="classic")
    shared.add_argument("--json", action="store_true")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("fanout", parents=[shared])
    one.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    one.add_argument("--limit", type=int, help="max_concurrency of the split")
    one = commands.add_parser("nested", parents=[shared])
    one.add_argument("--outer", type=int, default=300)
    one.add_argument("--inner", type=int, default=300)
    one = commands.add_parser("concurrency", parents=[shared])
    one.add_argument("--items", type=int, default=500)
    one.add_argument("--limit", type=int, default=7)
    one.add_argument("--hold", type=float, default=0.2, help="seconds a request takes")
    one.add_argument("--every", type=float, default=1.0, help="seconds between two kills")
    one = commands.add_parser("fairness", parents=[shared])
    one.add_argument("--items", type=int, default=100_000)
    one.add_argument("--runs", type=int, default=30, help="small runs alone, to compare with")
    one.add_argument("--beside", type=int, default=1_000, help="small runs beside it, at most")
    one.add_argument("--nested", action="store_true", help="a nested split as well")
    one.add_argument("--outer", type=int, default=300)
    one.add_argument("--inner", type=int, default=300)
    one = commands.add_parser("timers", parents=[shared])
    one.add_argument("--count", type=int, default=10_000)
    one = commands.add_parser("million", parents=[shared])
    one.add_argument("--count", type=int, default=1_000_000)
    given = parser.parse_args()
    if given.workers is None:  # set_defaults would change what all commands share
        given.workers = 3 if given.command == "concurrency" else 1
    return given


if __name__ == "__main__":
    sys.exit(asyncio.run(main(arguments())))
