"""`kill -9` at random moments of a thousand-item workflow: what follows is as if nothing happened.

`benchmarks/killing.py` does the same with many more kills.
"""

import pytest

from support.killing import drill, problems


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_that_is_killed_three_times_ends_as_if_nothing_had_happened(tmp_path, seed):
    report = drill(tmp_path, seed, kills=3)

    assert 3 == len(report.kills)
    assert [] == problems(report)
