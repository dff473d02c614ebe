"""What failed because the machine stood still is run again, once; whatever else failed is not."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from support.standstill import Watch

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("passed", "busy", "pauses"),
    [(0.5, 0.1, []), (300, 0.2, [(300, 300)]), (300, 200, [])],
    ids=["a tick", "a pause", "busy"],
)
def test_a_pause_is_time_in_which_nothing_could_be_done(passed, busy, pauses):
    times, used = iter([0, passed]), iter([0, busy])
    watch = Watch(lambda: next(times), lambda: next(used))

    watch.tick()

    assert pauses == watch.pauses


@pytest.mark.parametrize(
    ("paused", "fails", "exit_code", "runs"),
    [(True, 1, 0, 2), (True, 2, 1, 2), (False, 1, 1, 1), (True, 0, 0, 1)],
)
def test_only_what_failed_in_a_pause_is_run_again(tmp_path, paused, fails, exit_code, runs):
    (tmp_path / "test_it.py").write_text(
        textwrap.dedent(f"""
        import time
        from support.standstill import WATCH

        async def test_it(tmp_path_factory):
            with open({str(tmp_path / "runs")!r}, "a+") as seen:
                seen.write("x")
                seen.seek(0)
                if {paused}:
                    WATCH.pauses.append((time.monotonic() + 1, 60.0))
                assert len(seen.read()) > {fails}
        """)
    )
    words = ["-p", "support.standstill", "-n", "0", "-c", str(TESTS.parent / "pyproject.toml")]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=TESTS.parent,
    )

    assert exit_code == done.returncode, done.stdout + done.stderr
    assert "x" * runs == (tmp_path / "runs").read_text()
    assert (runs == 2) == ("stood still" in done.stderr)
