"""`onward workflows flow`: the start rule of a workflow, for concurrency, rate and debounce."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from onward.cli.commands.completion import workflow_ids
from onward.cli.engines.engine import (
    EngineAddress,
    answer_options,
    remove_command,
    show,
    table_of,
    verb_command,
)
from onward.cli.options import examples, option
from onward.cli.output.durations import span

_HEADINGS = ("workflow", "key", "at once", "rate", "alone", "debounce")
_count = click.IntRange(1, 1_000_000)
workflow_argument = click.argument("workflow_id", metavar="WORKFLOW", shell_complete=workflow_ids)


@click.group(
    epilog=examples(
        "onward workflows flow show import", "onward workflows flow set import --at-once 1"
    )
)
def flow() -> None:
    """Limit how runs of a workflow start: how many at once, how often, one for each key."""


@flow.command(
    name="set",
    epilog=examples(
        "onward workflows flow set import --at-once 1 --key '$trigger.customer'",
        "onward workflows flow set import --rate 10 --per 1m",
    ),
)
@workflow_argument
@option(
    "--key",
    envvar="ONWARD_FLOW_KEY",
    metavar="EXPRESSION",
    help="Apply the rule to each value of this expression on $trigger separately.",
)
@option("--at-once", "concurrency", type=_count, help="How many runs may be running at once.")
@option("--rate", type=_count, help="How many runs may start within --per.")
@option("--per", "per_ms", callback=span, metavar="SPAN", help="90s, 15m, 12h.  [default: 60s]")
@option("--alone", "singleton", is_flag=True, help="Refuse a run while another one is running.")
@option(
    "--debounce",
    "debounce_ms",
    callback=span,
    metavar="SPAN",
    help="Delay each start by this span, and drop it if another start arrives meanwhile.",
)
@answer_options
def set_rule(workflow_id: str, engine: EngineAddress, **given: Any) -> int:
    """Set the start rule. It replaces the previous one, also for runs that are already waiting."""
    rule = {name: value for name, value in given.items() if value}
    if not {"concurrency", "rate", "singleton", "debounce_ms"} & set(rule):
        raise click.UsageError("give --at-once, --rate, --alone or --debounce")
    if "per_ms" in rule and "rate" not in rule:
        raise click.UsageError("--per needs --rate")
    return show(
        engine,
        lambda client: client.set_flow(workflow_id, **rule),
        id_of="workflow_id",
        people=_print_rule,
    )


def _row(rule: Mapping[str, Any]) -> list[str]:
    from onward.cli.output.durations import seconds

    rate = f"{rule['rate']} in {seconds(rule['per_ms'])}" if rule["rate"] else ""
    return [
        rule["workflow_id"],
        rule["key"],
        str(rule["concurrency"] or ""),
        rate,
        "yes" if rule["singleton"] else "",
        seconds(rule["debounce_ms"]) if rule["debounce_ms"] else "",
    ]


_print_rule = table_of(_HEADINGS, _row)

flow.add_command(
    verb_command(
        "workflows flow show",
        "Show the start rule of WORKFLOW.",
        workflow_argument,
        lambda client, name: client.flow(name),
        sample="import",
        id_of="workflow_id",
        people=_print_rule,
    )
)
flow.add_command(
    remove_command(
        "workflows flow rm",
        "Remove the start rule: runs start at once, also those that are waiting.",
        workflow_argument,
        lambda client, name: client.drop_flow(name),
        sample="import",
        message="runs of {} start at once",
    )
)
