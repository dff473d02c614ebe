"""The language as its specification says it: every scenario of `features`, in one process."""

import pytest

from conformance import lifecycle, stand_ins, timetable  # noqa: F401  (their sentences)
from conformance.scenarios import play, scenarios

SCENARIOS = list(scenarios())


@pytest.mark.parametrize(
    "scenario", SCENARIOS, ids=[f"{scenario.feature}: {scenario.name}" for scenario in SCENARIOS]
)
async def test_scenario(lab, scenario):
    await play(scenario, lab)


def test_no_two_scenarios_have_the_same_name():
    names = [(scenario.feature, scenario.name) for scenario in SCENARIOS]

    assert sorted(set(names)) == sorted(names)
