"""The plan of faults follows from the seed, and holds what was asked for."""

from collections import Counter
from itertools import islice

import pytest
from benchmarks.chaos.__main__ import chaos
from benchmarks.chaos.plan import GROUPS, UNASKED, Plan
from click.testing import CliRunner

LEAST = {"worker": 100, "broker": 5, "redis": 5, "postgres": 3}


def test_the_same_seed_gives_the_same_faults():
    assert Plan(7, 300, 3).within() == Plan(7, 300, 3).within()


def test_another_seed_gives_other_faults():
    assert Plan(7, 300, 3).within() != Plan(8, 300, 3).within()


def test_a_longer_plan_begins_like_a_shorter_one():
    shorter = Plan(7, 100, 3).within()

    assert shorter == Plan(7, 300, 3).within()[: len(shorter)]


def test_faults_come_in_the_order_of_their_times_and_numbers():
    faults = Plan(1, 200, 3).within()

    assert faults == sorted(faults, key=lambda fault: fault.at_s)
    assert list(range(1, len(faults) + 1)) == [fault.number for fault in faults]


@pytest.mark.parametrize("seed", range(20))
def test_the_planned_time_holds_the_least_counts(seed):
    counts = Counter(fault.group for fault in Plan(seed, 600, 3, LEAST).within())

    assert [] == [group for group, count in LEAST.items() if counts[group] < count]


def test_every_variant_of_every_group_gets_its_turn():
    kinds = {fault.kind for fault in Plan(1, 400, 3, wipe=True).within()}

    assert {
        f"{name}: {variant}" for name, group in GROUPS.items() for variant in group.variants
    } == kinds


def test_every_worker_is_hit_and_nobody_else_who_is_not_there():
    targets = {fault.target for fault in Plan(1, 200, 4).within() if fault.group == "worker"}

    assert {"worker-1", "worker-2", "worker-3", "worker-4"} == targets


def test_what_nobody_asked_for_does_not_happen():
    groups = {fault.group for fault in islice(Plan(1, 600, 3).faults(), 2000)}

    assert groups == GROUPS.keys() - UNASKED


@pytest.mark.parametrize(
    ("elapsed_s", "started", "broker", "expected"),
    [(60, 500, 2, True), (59, 500, 2, False), (60, 499, 2, False), (60, 500, 1, False)],
)
def test_it_is_enough_when_time_runs_and_faults_all_are(elapsed_s, started, broker, expected):
    plan = Plan(1, 60, 3, {"broker": 2}, executions=500)

    assert expected == plan.enough(elapsed_s, started, {"broker": broker})


def test_the_plan_is_printed_without_running():
    done = CliRunner().invoke(chaos, ["--plan", "--seconds", "30", "--seed", "3"])

    assert 0 == done.exit_code
    lines = [line for line in done.stdout.splitlines() if " s  " in line]
    assert [str(fault) for fault in Plan(3, 30, 3).within()] == lines


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--least", "brokers=5"], "there is no group of faults 'brokers'"),
        (["--least", "broker"], "write broker=10"),
        (["--least", "wipe=1"], "needs --wipe"),
    ],
)
def test_a_wrong_count_is_explained(words, said):
    done = CliRunner().invoke(chaos, [*words, "--plan"])

    assert 2 == done.exit_code
    assert said in done.stderr
