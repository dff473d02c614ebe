"""Schedules for one hour in which Berlin changes its clocks, and when each of them must fire."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim

from onward.ports.storage.triggers import Cron, Interval

MINUTE = 60_000
HOUR = 60 * MINUTE
ALWAYS = {"overlap": "allow", "misfire": "all", "most_missed": 100, "grace_ms": 1_000}
CRONS = {
    "often": "* * * * *",
    "fives": "*/5 * * * *",
    "hours": "0 * * * *",
    "named": "15,30,45 2 * * *",
    "three": "0 3 * * *",
    "never": "0 12 * * *",
}


def ms(text):
    return int(datetime.fromisoformat(text).timestamp() * 1000)


# The hour in which Berlin puts its clocks back, and the one in which it puts them forward. What
# named times come to in them is written out, not computed.
BACK = (
    ms("2026-10-25T00:20:00+00:00"),
    {"named": ["00:30", "00:45"], "three": [], "hours": ["01:00"]},
)
FORTH = (
    ms("2026-03-29T00:20:00+00:00"),
    {"named": ["01:00"], "three": ["01:00"], "hours": ["01:00"]},
)


def schedules(intervals):
    """Return every schedule by its name: those above, and some that come at intervals."""
    crons = {
        name: Cron(expression=expression, time_zone="Europe/Berlin", **ALWAYS)
        for name, expression in CRONS.items()
    }
    return crons | {name: Interval(every_ms=ms, **ALWAYS) for name, ms in intervals.items()}


def due_times(begin, named, intervals):
    """Return when each must fire in the hour that begins then."""
    minutes = range(begin + MINUTE, begin + HOUR + 1, MINUTE)
    day = datetime.fromtimestamp(begin / 1000, ZoneInfo("UTC")).date().isoformat()
    return (
        {name: [minute for minute in minutes if _reads(CRONS[name], minute)] for name in CRONS}
        | {
            name: [begin + n * every for n in range(1, HOUR // every + 1)]
            for name, every in intervals.items()
        }
        | {
            name: [ms(f"{day}T{time_}:00+00:00") for time_ in times]
            for name, times in named.items()
        }
    )


def _reads(expression, moment):
    local = datetime.fromtimestamp(moment / 1000, ZoneInfo("Europe/Berlin"))
    wanted = CronSim(expression, datetime(2000, 1, 1, tzinfo=UTC))
    return local.minute in wanted.minutes and local.hour in wanted.hours
