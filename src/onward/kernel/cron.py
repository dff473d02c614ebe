"""Cron expressions: whether one is valid, and the times it names, in a fixed time zone."""

from __future__ import annotations

from datetime import UTC, datetime

from cronsim import CronSim, CronSimError

_ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def expand_cron(expression: str) -> str:
    """Return the five fields of an expression, also of an alias such as @daily."""
    return _ALIASES.get(expression.strip().lower(), expression)


def cron_times(expression: str, after: datetime) -> CronSim:
    """Return the times of an expression after `after`; ValueError if it is not valid."""
    text = expand_cron(expression)
    if len(text.split()) != 5:
        raise ValueError("not five fields")
    try:
        return CronSim(text, after)
    except CronSimError as problem:
        raise ValueError(str(problem).lower()) from None


def describe_cron_problem(expression: str) -> str:
    """Return what is wrong with an expression, with the remedy; "" when it is valid."""
    try:
        times = cron_times(expression, _LONG_AGO)
    except ValueError as problem:
        return (
            f"{expression!r} is no cron expression ({problem}): write five fields,"
            " minute hour day month weekday, such as 30 9 * * 1-5"
        )
    if next(times, None) is None:
        return f"{expression!r} never comes: there is no such day"
    return ""
