"""The options of `onward triggers add`, `change` and `preview`, and the settings they stand for."""

from __future__ import annotations

from typing import Any

import click

from onward.cli.options import F, option
from onward.cli.output.durations import span

_KINDS = {
    "cron": ("zone", "overlap", "misfire", "whole"),
    "every": ("overlap", "misfire", "whole"),
    "webhook": ("respond", "node_id", "unsigned"),
    "event": ("source", "subject", "where"),
    "manual": ("whole",),
}
"""Which options go with each kind."""
_NAMES = dict.fromkeys((*_KINDS, *(name for some in _KINDS.values() for name in some)))
_TIMES = (
    option(
        "--cron", metavar="EXPRESSION", help='Minute, hour, day, month, weekday: "30 9 * * 1-5".'
    ),
    option("--zone", metavar="ZONE", help="The time zone of --cron.  [default: UTC]"),
    option("--every", callback=span, metavar="SPAN", help="Again and again: 90s, 15m, 12h."),
)
_OPTIONS = (
    *_TIMES,
    option("--webhook", metavar="PATH", help="Requests to /api/v1/hooks/PATH; - makes a path up."),
    option("--unsigned", is_flag=True, help="Requests need no signature; the path must be -."),
    option(
        "--respond",
        type=click.Choice(["accepted", "result", "node"]),
        help="Answer requests at once, or with what the run or --node comes to.",
    ),
    option("--node", "node_id", metavar="NODE", help="Whose output --respond node answers with."),
    option("--event", metavar="TYPE", help="CloudEvents of this type; order.* for a beginning."),
    option("--source", metavar="TEXT", help="Only events of this source."),
    option("--subject", metavar="TEXT", help="Only events of this subject."),
    option("--where", metavar="JQ", help="Only events of which this is true: .data.amount > 100"),
    option("--manual", is_flag=True, help="Only when somebody fires it."),
    option(
        "--overlap",
        type=click.Choice(["skip", "queue", "allow", "cancel"]),
        help="What a time does when the run before it goes on.  [default: skip]",
    ),
    option(
        "--misfire",
        type=click.Choice(["skip", "once", "all"]),
        help="What is made up for of the times nobody could fire at.  [default: once]",
    ),
    option("--input", "whole", metavar="JSON|@FILE|-", help="The input of the runs."),
)


def kinds(command: F) -> F:
    """Add the options that say what fires, and how."""
    for add in reversed(_OPTIONS):
        command = add(command)
    return command


def schedule(command: F) -> F:
    """Add the options that say when a schedule is due."""
    for add in reversed(_TIMES):
        command = add(command)
    return command


def schedule_of(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a schedule, and return its settings."""
    cron, zone, every = (given.pop(name) for name in ("cron", "zone", "every"))
    if bool(cron) == bool(every):
        raise click.UsageError("give one of --cron and --every")
    if every:
        if zone:
            raise click.UsageError("--zone does not go with --every")
        return {"kind": "interval", "every_ms": every}
    return {"kind": "cron", "expression": cron, **({"time_zone": zone} if zone else {})}


def settings_of(whole: dict[str, Any]) -> dict[str, Any]:
    """Take the options that say what fires, and return the settings they stand for.

    UsageError unless they fit together.
    """
    given = {name: whole.pop(name) for name in _NAMES}
    named = [kind for kind in _KINDS if given[kind]]
    if len(named) != 1:
        raise click.UsageError("give one of --cron, --every, --webhook, --event and --manual")
    kind = named[0]
    flags = {one for some in _KINDS.values() for one in some if given[one]}
    for odd in sorted(flags - set(_KINDS[kind])):
        option_name = {"node_id": "node", "whole": "input"}.get(odd, odd)
        raise click.UsageError(f"--{option_name} does not go with --{kind}")
    return {name: value for name, value in _settings(kind, given).items() if value is not None}


def _settings(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    from onward.cli.input.run_input import read_run_input

    value = read_run_input(given["whole"], ()) if given["whole"] is not None else None
    timed = {"overlap": given["overlap"], "misfire": given["misfire"], "input": value}
    match kind:
        case "cron":
            zone = given["zone"]
            return {"kind": "cron", "expression": given["cron"], "time_zone": zone, **timed}
        case "every":
            return {"kind": "interval", "every_ms": given["every"], **timed}
        case "webhook":
            return {
                "kind": "webhook",
                "path": None if given["webhook"] == "-" else given["webhook"],
                "signature": "none" if given["unsigned"] else None,
                "respond": given["respond"],
                "node_id": given["node_id"],
            }
        case "event":
            wanted = {name: given[name] for name in ("source", "subject", "where")}
            return {"kind": "event", "type": given["event"], **wanted}
        case _:
            return {"kind": "manual", "input": value}
