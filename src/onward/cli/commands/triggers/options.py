"""The options of `onward triggers add`, `change` and `preview`, and the settings they describe."""

from __future__ import annotations

from typing import Any

import click

from onward.cli.options import combine, option
from onward.cli.output.durations import span

_KINDS = {
    "cron": ("zone", "overlap", "misfire", "whole"),
    "every": ("overlap", "misfire", "whole"),
    "webhook": ("respond", "node_id", "unsigned"),
    "event": ("source", "subject", "where"),
    "manual": ("whole",),
}
"""Which options each kind accepts."""
_NAMES = dict.fromkeys((*_KINDS, *(name for names in _KINDS.values() for name in names)))
schedule_options = combine(
    option("--cron", metavar="EXPRESSION", help='Fire by a cron expression: "30 9 * * 1-5".'),
    option("--zone", metavar="ZONE", help="The time zone of --cron.  [default: UTC]"),
    option("--every", callback=span, metavar="SPAN", help="Fire at an interval: 90s, 15m, 12h."),
)
"""When a schedule is due."""
trigger_options = combine(
    schedule_options,
    option(
        "--webhook",
        metavar="PATH",
        help="Fire by requests to /api/v1/hooks/PATH; - generates a path that cannot be guessed.",
    ),
    option("--unsigned", is_flag=True, help="Accept requests without a signature; PATH must be -."),
    option(
        "--respond",
        type=click.Choice(["accepted", "result", "node"]),
        help="Respond at once, with the result of the run, or with the output of --node.",
    ),
    option("--node", "node_id", metavar="NODE", help="The node of --respond node."),
    option("--event", metavar="TYPE", help="Fire by CloudEvents of this type, or of order.*"),
    option("--source", metavar="TEXT", help="Only events with this source."),
    option("--subject", metavar="TEXT", help="Only events with this subject."),
    option("--where", metavar="JQ", help="Only events that match: .data.amount > 100"),
    option("--manual", is_flag=True, help="Fire only by `onward triggers fire`."),
    option(
        "--overlap",
        type=click.Choice(["skip", "queue", "allow", "cancel"]),
        help="What to do while the previous run is still running.  [default: skip]",
    ),
    option(
        "--misfire",
        type=click.Choice(["skip", "once", "all"]),
        help="Which missed times to make up for.  [default: once]",
    ),
    option("--input", "whole", metavar="JSON|@FILE|-", help="The input of the runs."),
)
"""What fires a trigger, and how."""


def schedule_of(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the schedule that the options describe."""
    cron, zone, every = (given[name] for name in ("cron", "zone", "every"))
    if bool(cron) == bool(every):
        raise click.UsageError("give one of --cron and --every")
    if every:
        if zone:
            raise click.UsageError("--zone cannot be used with --every")
        return {"kind": "interval", "every_ms": every}
    return {"kind": "cron", "expression": cron, **({"time_zone": zone} if zone else {})}


def settings_of(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the trigger that the options describe; UsageError if they conflict."""
    named = [kind for kind in _KINDS if given[kind]]
    if len(named) != 1:
        raise click.UsageError("give one of --cron, --every, --webhook, --event and --manual")
    kind = named[0]
    used = {name for name in _NAMES if name not in _KINDS and given[name]}
    for odd in sorted(used - set(_KINDS[kind])):
        option_name = {"node_id": "node", "whole": "input"}.get(odd, odd)
        raise click.UsageError(f"--{option_name} cannot be used with --{kind}")
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
