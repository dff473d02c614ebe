"""The embedded engine beside DBOS Transact on SQLite: the same work, in the same run, in turns.

    python benchmarks/embedded.py                   # needs uv, which fetches DBOS for itself
    python benchmarks/embedded.py --json
    python benchmarks/embedded.py --peer-python /somewhere/bin/python     # has dbos installed
    python benchmarks/embedded.py --no-peer

Every round measures onward with control nodes, onward with activities, and the peer, each in a
process of its own on a new file; the figures are medians over the rounds. Both engines sync every
commit. The peer gets fewer runs and items because it is slower; what is compared are rates.

The ratio is a property of the disk as much as of the engines: one syncs for every step, the other
for every batch. So each round also times a bare sync of 4 KiB, and the report shows it: do not
compare ratios that were taken on disks, or at times, with different syncs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DBOS = "dbos>=3.3,<4"

Samples = list[dict[str, Any]]


def main(arguments: list[str]) -> int:
    """Measure, print the table, and return an exit code."""
    given = _parse(arguments)
    peer = None if given.no_peer else _peer_command(given.peer_python)
    if peer is None and not given.no_peer:
        print(
            f"The peer needs {DBOS} in an environment of its own. Install uv and run this again, "
            "or do:\n"
            f"    python -m venv /tmp/peer && /tmp/peer/bin/pip install '{DBOS}'\n"
            f"    {sys.executable} {__file__} --peer-python /tmp/peer/bin/python\n"
            "With --no-peer only onward is measured.",
            file=sys.stderr,
        )
        return 2
    _warn_of_memory_file_system()
    control: Samples = []
    activity: Samples = []
    dbos: Samples = []
    syncs: list[float] = []
    for number in range(1, given.rounds + 1):
        print(f"round {number} of {given.rounds}", file=sys.stderr)
        syncs.append(_sync_ms())
        sizes = ("--runs", str(given.runs), "--items", str(given.items))
        for kind, samples in (("control", control), ("activity", activity)):
            samples.append(_child([sys.executable, str(HERE / "workloads.py"), kind, *sizes]))
        if peer is not None:
            dbos.append(_child([*peer, str(HERE / "dbos_peer.py")]))
    report = _report(control, activity, dbos, syncs)
    print(json.dumps(report, indent=2) if given.json else _table(report))
    return 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=1_000, help="runs of the chain (onward)")
    parser.add_argument("--items", type=int, default=10_000, help="items of the split (onward)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--no-peer", action="store_true", help="measure onward alone")
    parser.add_argument("--peer-python", help="a Python that has dbos")
    return parser.parse_args(arguments)


def _peer_command(python: str | None) -> list[str] | None:
    """Return how to start Python with DBOS, without touching this environment."""
    if python:
        return [python]
    if shutil.which("uv") is None:
        return None
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return ["uv", "run", "--quiet", "--no-project", "--python", version, "--with", DBOS, "python"]


def _child(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}; see above")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _sync_ms(times: int = 50) -> float:
    """Return the median milliseconds of appending 4 KiB to a file and syncing it."""
    taken: list[float] = []
    with tempfile.TemporaryFile() as file:
        for _ in range(times):
            began = time.perf_counter()
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
            taken.append(1000 * (time.perf_counter() - began))
    return statistics.median(taken)


def _warn_of_memory_file_system() -> None:
    """Say so when the files would be in memory: syncing them then costs nothing."""
    place = Path(tempfile.gettempdir()).resolve()
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return
    kinds = {line.split()[1]: line.split()[2] for line in mounts.read_text().splitlines()}
    folders = [str(place), *map(str, place.parents)]
    kind = next((kinds[folder] for folder in folders if folder in kinds), "")
    if kind == "tmpfs":
        print(f"{place} is in memory: set TMPDIR to a folder on a disk", file=sys.stderr)


def _report(
    control: Samples, activity: Samples, dbos: Samples, syncs: list[float]
) -> dict[str, Any]:
    engines = {"onward, control nodes": control, "onward, activities": activity, "DBOS": dbos}
    figures = {name: _figures(samples) for name, samples in engines.items() if samples}
    if dbos:
        for name in ("onward, control nodes", "onward, activities"):
            for load in ("w1", "w2"):
                ratio = figures[name][load] / figures["DBOS"][load]
                figures[name][f"{load}_ratio"] = round(ratio, 1)
    return {
        "rounds": len(control),
        "sync_ms": [round(sync, 2) for sync in syncs],
        "durability": {
            "onward": control[0]["durability"],
            **({"DBOS": dbos[0]["durability"]} if dbos else {}),
        },
        "dbos": dbos[0]["version"] if dbos else None,
        "engines": figures,
    }


def _figures(samples: Samples) -> dict[str, Any]:
    short = sorted(taken for sample in samples for taken in sample["w4"])
    figures = {
        "w1": round(statistics.median(sample["w1"] for sample in samples)),
        "w2": round(statistics.median(sample["w2"] for sample in samples)),
        "w4_p50_ms": round(_percentile(short, 50), 2),
        "w4_p95_ms": round(_percentile(short, 95), 2),
    }
    if "w2_queued" in samples[0]:
        figures["w2_queued"] = round(statistics.median(sample["w2_queued"] for sample in samples))
    return figures


def _percentile(ordered: Sequence[float], share: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)]


def _table(report: dict[str, Any]) -> str:
    lines = [
        f"{'':<22}{'W1 nodes/s':>18}{'W2 items/s':>18}{'W4 p50 / p95 ms':>20}",
    ]
    for name, one in report["engines"].items():
        cells = [
            f"{one[load]:,}" + (f" ({one[f'{load}_ratio']}x)" if f"{load}_ratio" in one else "")
            for load in ("w1", "w2")
        ]
        latency = f"{one['w4_p50_ms']} / {one['w4_p95_ms']}"
        lines.append(f"{name:<22}{cells[0]:>18}{cells[1]:>18}{latency:>20}")
        if "w2_queued" in one:
            queued = f"{one['w2_queued']:,}"
            lines.append(f"{'  child workflows':<22}{'':>18}{queued:>18}")
    lines += [
        "",
        f"medians of {report['rounds']}; W1 = runs of a 10-node chain, W2 = one split, "
        "W4 = one idle 3-node run",
        "a bare sync of 4 KiB, by round: " + ", ".join(f"{one} ms" for one in report["sync_ms"]),
        *(f"{name}: {setting}" for name, setting in report["durability"].items()),
    ]
    if report["dbos"]:
        lines.append(f"DBOS Transact {report['dbos']}: W2 as steps of one workflow")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
