"""Kill a thousand-item workflow fifty times, resume it each time, and compare.

    python benchmarks/killing.py [--kills 50] [--seed 1]

Every row is a run of its own that is killed with `kill -9` at a random moment and then resumed.
It must end as a run that was left in peace does: the same result, the same visits, none recorded
twice, the same idempotency keys, and no key asked for more often than once for each life.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.killing import ITEMS, Report, drill, problems


def main() -> int:
    """Print one line for each kill; return 1 if any run differs from the one in peace."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=50)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()

    peace = _drilled(given.seed, kills=0)
    print(f"in peace: {peace.requests} requests, {peace.seconds:.1f} s, {peace.status}")
    assert not problems(peace), problems(peace)

    print(f"{'seed':>6} {'killed at':>10} {'asked again':>12} {'seconds':>8}  verdict")
    wrong = again = 0
    for seed in range(given.seed, given.seed + given.kills):
        report = _drilled(seed, kills=1)
        found = problems(report)
        if report.output != peace.output:
            found.append("its result is not that of the run in peace")
        if report.keys != peace.keys:
            found.append("its idempotency keys are not those of the run in peace")
        wrong += bool(found)
        again += report.requests - len(report.keys)
        _print(seed, report, found)

    print(
        f"{given.kills} kills of a {ITEMS}-item workflow: {wrong} wrong, {again} requests repeated"
    )
    assert wrong == 0
    return 0


def _drilled(seed: int, kills: int) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        return drill(Path(folder), seed, kills)


def _print(seed: int, report: Report, found: list[str]) -> None:
    repeated = report.requests - len(report.keys)
    verdict = "; ".join(found) or "the same"
    moment = f"{report.kills[0]}/{ITEMS}"
    print(f"{seed:>6} {moment:>10} {repeated:>12} {report.seconds:>8.1f}  {verdict}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
