"""When schedules are due, above all where clocks are put forward or back."""

import random
from datetime import UTC, datetime
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from onward.errors import InputError
from onward.ports.storage.triggers import Cron, Interval
from onward.runtime.schedules import check_schedule, first_after, moments, plan

MINUTE = 60_000
HOUR = 60 * MINUTE


def ms(text):
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def cron(expression, zone="UTC", **more):
    return Cron(expression=expression, time_zone=zone, **more)


def told(schedule, after, many):
    zone = ZoneInfo(schedule.time_zone)
    found = islice(moments(schedule, 0, ms(after)), many)
    return [datetime.fromtimestamp(one / 1000, zone).isoformat() for one in found]


def test_times_are_those_of_the_wall_clock():
    assert [
        "2026-03-06T09:30:00+01:00",
        "2026-03-09T09:30:00+01:00",
        "2026-03-10T09:30:00+01:00",
    ] == told(cron("30 9 * * 1-5", "Europe/Berlin"), "2026-03-05T08:30:00+00:00", 3)


def test_a_time_that_does_not_exist_is_made_up_for_in_the_first_minute_that_does():
    assert [
        "2026-03-28T02:30:00+01:00",
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ] == told(cron("30 2 * * *", "Europe/Berlin"), "2026-03-27T12:00:00+00:00", 3)


def test_times_that_fall_into_one_minute_fire_once():
    assert ["2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"] == told(
        cron("0,30 2,3 * * *", "Europe/Berlin"), "2026-03-29T00:59:00+00:00", 3
    )[::2]


def test_of_a_time_that_comes_twice_the_first_counts():
    assert [
        "2026-10-24T02:30:00+02:00",
        "2026-10-25T02:30:00+02:00",
        "2026-10-26T02:30:00+01:00",
    ] == told(cron("30 2 * * *", "Europe/Berlin"), "2026-10-23T12:00:00+00:00", 3)


def test_a_star_follows_real_time_through_both_changes():
    back = told(cron("*/30 * * * *", "Europe/Berlin"), "2026-10-24T23:59:00+00:00", 6)
    forth = told(cron("*/30 * * * *", "Europe/Berlin"), "2026-03-29T00:29:00+00:00", 3)

    assert ["02:00:00+02:00", "02:30:00+02:00", "02:00:00+01:00", "02:30:00+01:00"] == [
        one[11:] for one in back[:4]
    ]
    assert ["01:30:00+01:00", "03:00:00+02:00", "03:30:00+02:00"] == [one[11:] for one in forth]


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Europe/Berlin", "2026-03-29"),
        ("Europe/Berlin", "2026-10-25"),
        ("America/New_York", "2026-11-01"),
        ("Australia/Lord_Howe", "2026-10-04"),
        ("Australia/Lord_Howe", "2026-04-05"),
        ("Antarctica/Troll", "2026-03-29"),
        ("Africa/Cairo", "2026-04-24"),
        ("Africa/Cairo", "2026-10-30"),
        ("Asia/Kathmandu", "2026-06-01"),
    ],
)
def test_a_star_fires_in_every_minute_that_reads_so_and_in_no_other(zone, day):
    """Against the plainest reading there is: look at the clock every minute."""
    for expression in ("*/20 * * * *", "10 */2 * * *", "* 0-2 * * *", "*/45 23 * * *"):
        begin = ms(f"{day}T00:00:00+00:00") - 24 * HOUR
        expected = [
            one
            for one in range(begin + MINUTE, begin + 60 * HOUR, MINUTE)
            if _reads(expression, datetime.fromtimestamp(one / 1000, ZoneInfo(zone)))
        ]
        found = moments(cron(expression, zone), 0, begin)

        until = begin + 60 * HOUR
        assert expected == list(takewhile(until.__gt__, found))


def _reads(expression, local):
    wanted = CronSim(expression, datetime(2000, 1, 1, tzinfo=UTC))
    return local.minute in wanted.minutes and local.hour in wanted.hours


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Africa/Cairo", "Australia/Lord_Howe"])
@pytest.mark.parametrize(
    "expression", ["30 2 * * *", "*/7 * * * *", "15 */3 * * *", "0 0,23 * * *"]
)
def test_wherever_one_begins_the_times_are_the_same(zone, expression):
    """What a master finds after a crash is what it would have found without one."""
    schedule = cron(expression, zone)
    dice = random.Random(7)
    for day in ("2026-03-29", "2026-04-05", "2026-04-24", "2026-10-04", "2026-10-25", "2026-10-30"):
        begin = ms(f"{day}T00:00:00+00:00") - 20 * HOUR
        whole = list(takewhile((begin + 60 * HOUR).__gt__, moments(schedule, 0, begin)))
        assert whole == sorted(set(whole))
        for _ in range(25):
            after = begin + dice.randrange(50 * HOUR)
            following = [one for one in whole if one > after][:1]
            assert following in ([], [first_after(schedule, 0, after)])


def test_an_interval_counts_from_its_beginning():
    schedule = Interval(every_ms=15 * MINUTE)

    assert [1_000 + 30 * MINUTE, 1_000 + 45 * MINUTE] == list(
        islice(moments(schedule, 1_000, 1_000 + 15 * MINUTE), 2)
    )
    assert 1_000 + 15 * MINUTE == first_after(schedule, 1_000, 0)


@pytest.mark.parametrize(
    ("expression", "zone", "said"),
    [
        ("* * * *", "UTC", "five fields"),
        ("0 0 0 * * *", "UTC", "five fields"),
        ("61 * * * *", "UTC", "bad minute"),
        ("0 0 31 2 *", "UTC", "day-of-month"),
        ("0 0 30 2 1", "UTC", None),
        ("0 0 1 1 *", "Mars/Olympus", "no time zone"),
        ("0 0 1 1 *", "../etc/passwd", "no time zone"),
        ("0 0 1 1 *", "America", "no time zone"),
        ("", "UTC", "five fields"),
        ("@often", "UTC", "five fields"),
        ("@daily", "UTC", None),
    ],
)
def test_a_schedule_that_cannot_be_is_refused_with_the_remedy(expression, zone, said):
    if said is None:
        check_schedule(cron(expression, zone), 0)
        return
    with pytest.raises(InputError) as refused:
        check_schedule(cron(expression, zone), 0)
    assert said in str(refused.value)


# -- what to fire --------------------------------------------------------------------------------


def minutely(**more):
    return Interval(every_ms=MINUTE, **more)


def test_what_is_due_fires_and_the_schedule_moves_on():
    assert ((MINUTE,), 0, 2 * MINUTE) == plan(minutely(), 0, MINUTE, MINUTE)
    assert ((MINUTE, 2 * MINUTE), 0, 3 * MINUTE) == plan(minutely(), 0, MINUTE, 2 * MINUTE)


@pytest.mark.parametrize(
    ("misfire", "fired", "missed"),
    [
        ("skip", [60], 59),
        ("once", [60], 59),
        ("all", range(50, 61), 49),
    ],
)
def test_missed_times_follow_the_policy(misfire, fired, missed):
    done = plan(minutely(misfire=misfire, grace_ms=30_000), 0, MINUTE, 60 * MINUTE)

    assert (list(fired), missed) == ([one // MINUTE for one in done.fire], done.missed)
    assert 61 * MINUTE == done.next_due


def test_once_makes_up_with_the_latest_when_nothing_is_on_time():
    done = plan(minutely(misfire="once", grace_ms=1_000), 0, MINUTE, 60 * MINUTE + 5_000)

    assert ((60 * MINUTE,), 59, 61 * MINUTE) == done


def test_a_schedule_that_slept_for_years_is_planned_at_once():
    year = 365 * 24 * HOUR
    done = plan(Interval(every_ms=1_000, misfire="all", most_missed=3), 0, 1_000, 5 * year)

    assert 3 + 61 == len(done.fire)
    assert 5 * year + 1_000 == done.next_due


def test_the_latest_year_does_not_break_it():
    late = ms("9999-12-31T23:59:00+00:00")

    assert first_after(cron("0 0 1 1 *"), 0, late) is None
    assert ((late,), 0, None) == plan(cron("0 0 1 1 *"), 0, late, late)
