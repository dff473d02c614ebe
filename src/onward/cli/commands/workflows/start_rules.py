"""`onward workflows flow`: how runs of a workflow may start."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import click

from onward.cli.commands.completion import workflow_ids
from onward.cli.engines.server import do, output, place, table_of, tell
from onward.cli.options import examples, option
from onward.cli.output.durations import span

_HEADINGS = ("workflow", "key", "at once", "rate", "alone", "debounce")
_name = click.argument("workflow_id", metavar="WORKFLOW", shell_complete=workflow_ids)
_many = click.IntRange(1, 1_000_000)


@click.group(
    epilog=examples(
        "onward workflows flow show import", "onward workflows flow set import --at-once 1"
    )
)
def flow() -> None:
    """Say how runs of a workflow may start: how many at once, how often, one for each key."""


@flow.command(
    epilog=examples(
        "onward workflows flow show import", "onward workflows flow show import -o json"
    )
)
@_name
@output
@place
def show(workflow_id: str, output: str, **given: Any) -> int:
    """Show the rule that runs of WORKFLOW start by."""
    return _tell(given, output, lambda engine: engine.flow(workflow_id))


@flow.command(
    name="set",
    epilog=examples(
        "onward workflows flow set import --at-once 1 --key '$trigger.customer'",
        "onward workflows flow set import --rate 10 --per 1m",
    ),
)
@_name
@option(
    "--key",
    envvar="ONWARD_FLOW_KEY",
    metavar="EXPRESSION",
    help="Count each of its values for itself: on $trigger.",
)
@option("--at-once", "concurrency", type=_many, help="How many runs may go on at once.")
@option("--rate", type=_many, help="How many may start in --per.")
@option("--per", "per_ms", callback=span, metavar="SPAN", help="90s, 15m, 12h.  [default: 60s]")
@option("--alone", "singleton", is_flag=True, help="While one goes on, refuse another.")
@option(
    "--debounce",
    "debounce_ms",
    callback=span,
    metavar="SPAN",
    help="Wait so long, and give way to another run that comes meanwhile.",
)
@output
@place
def set_rule(workflow_id: str, output: str, **given: Any) -> int:
    """Set the rule. It replaces the one before, and counts for runs that are parked already."""
    names = ("key", "concurrency", "rate", "per_ms", "singleton", "debounce_ms")
    rule = {name: value for name in names if (value := given.pop(name))}
    if not {"concurrency", "rate", "singleton", "debounce_ms"} & set(rule):
        raise click.UsageError("give --at-once, --rate, --alone or --debounce")
    if "per_ms" in rule and "rate" not in rule:
        raise click.UsageError("--per goes with --rate")
    return _tell(given, output, lambda engine: engine.set_flow(workflow_id, **rule))


@flow.command(
    epilog=examples(
        "onward workflows flow rm import",
        "onward workflows flow rm import --server http://onward:8700",
    )
)
@_name
@place
def rm(workflow_id: str, **given: Any) -> int:
    """Take the rule away: runs start at once, also those that are parked."""
    said = f"runs of {workflow_id} start at once"
    return do(given, said, lambda engine: engine.drop_flow(workflow_id))


def _row(one: Mapping[str, Any]) -> list[str]:
    from onward.cli.output.durations import seconds

    rate = f"{one['rate']} in {seconds(one['per_ms'])}" if one["rate"] else ""
    return [
        one["workflow_id"],
        one["key"],
        str(one["concurrency"] or ""),
        rate,
        "yes" if one["singleton"] else "",
        seconds(one["debounce_ms"]) if one["debounce_ms"] else "",
    ]


_tell = partial(tell, id_of="workflow_id", people=table_of(_HEADINGS, _row))
