"""How a split grows: bytes written, memory and time for 1,000, 10,000 and 100,000 items.

    python benchmarks/fanout.py
    python benchmarks/fanout.py --json
    python benchmarks/fanout.py --kind activity --sizes 1000 10000

Two series. *fixed*: every item is 100 bytes of JSON, so the array grows with the number of items.
*shared*: the array is always about 1 MB, so the items shrink (never below 2 bytes of text). Each
item goes through one node that hands it on, and the aggregator gathers all of them.

Every measurement is a process of its own. `file` is what the database and its write-ahead log
hold at the end; `written` is what the process had the kernel write to the disk (Linux only: it
counts every rewrite of a page, and the checkpoint of the log); `memory` is the peak resident set,
and `grown` how much of it was not there before the run started.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from workloads import CATALOGUE, Kind, fan, run_once

from onward.bootstrap.embedded import open_engine
from onward.bootstrap.settings import EmbeddedSettings

SIZES = (1_000, 10_000, 100_000)
FIXED_BYTES = 100
SHARED_BYTES = 1_000_000
BODIES: dict[Kind, dict[str, Any]] = {
    "control": {"id": "work", "type": "transform", "parameters": {"expression": "$item"}},
    "activity": {"id": "work", "type": "add", "parameters": {"value": "$item"}},
}


def array(series: str, count: int) -> list[str]:
    """Return the items: distinct strings of the series' size as JSON, quotes included."""
    size = FIXED_BYTES if series == "fixed" else SHARED_BYTES // count - 1
    return [str(number).rjust(size - 2, "x")[: max(2, size - 2)] for number in range(count)]


async def measure(kind: Kind, series: str, count: int) -> dict[str, Any]:
    """Run one split and return what it cost."""
    given = array(series, count)
    program = fan(BODIES[kind])
    with tempfile.TemporaryDirectory(prefix="onward-bench-") as place:
        async with open_engine(
            EmbeddedSettings(database=Path(place) / "onward.db"), catalogue=CATALOGUE
        ) as engine:
            memory, written, began = _peak_bytes(), _written_bytes(), time.perf_counter()
            context = await run_once(engine, program, given)
            seconds = time.perf_counter() - began
            held = _held_bytes(Path(place))
        if context["$all"] != given:
            raise RuntimeError("the items came to the wrong list")
        return {
            "kind": kind,
            "series": series,
            "items": count,
            "array_bytes": len(json.dumps(given, separators=(",", ":"))),
            "seconds": seconds,
            "file_bytes": held,
            "written_bytes": None if written is None else (_written_bytes() or 0) - written,
            "peak_bytes": _peak_bytes(),
            "grown_bytes": _peak_bytes() - memory,
        }


def _held_bytes(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.iterdir())


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _written_bytes() -> int | None:
    """Return what this process has had written to the disk so far, or None if nobody counts."""
    counters = Path("/proc/self/io")
    if not counters.exists():
        return None
    fields = dict(line.split(": ") for line in counters.read_text().splitlines())
    return int(fields["write_bytes"])


def main(arguments: list[str]) -> int:
    """Measure each size in a child process and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", choices=sorted(BODIES), default="control")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="ITEMS")
    parser.add_argument("--json", action="store_true", help="print one JSON array")
    parser.add_argument("--one", nargs=2, metavar=("SERIES", "ITEMS"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.one:
        series, count = given.one
        print(json.dumps(asyncio.run(measure(given.kind, series, int(count)))))
        return 0
    rows = [
        _child(given.kind, series, count) for series in ("fixed", "shared") for count in given.sizes
    ]
    print(json.dumps(rows, indent=2) if given.json else _table(rows))
    return 0


def _child(kind: str, series: str, count: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--kind", kind, "--one", series, str(count)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the split of {count} items ended with {done.returncode}; see above")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _table(rows: list[dict[str, Any]]) -> str:
    head = ("series", "items", "array kB", "s", "items/s", "file B/item", "written B/item")
    lines = ["".join(f"{one:>15}" for one in (*head, "memory MB", "grown B/item"))]
    for row in rows:
        count = row["items"]
        written = row["written_bytes"]
        cells = (
            row["series"],
            f"{count:,}",
            f"{row['array_bytes'] / 1000:,.0f}",
            f"{row['seconds']:.2f}",
            f"{count / row['seconds']:,.0f}",
            f"{row['file_bytes'] / count:,.0f}",
            "-" if written is None else f"{written / count:,.0f}",
            f"{row['peak_bytes'] / 1e6:,.0f}",
            f"{row['grown_bytes'] / count:,.0f}",
        )
        lines.append("".join(f"{cell:>15}" for cell in cells))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
