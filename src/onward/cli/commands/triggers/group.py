"""`onward triggers`: what starts runs, on a server or in the file of `onward dev`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from onward.cli.commands.completion import workflow_ids
from onward.cli.commands.runs.selection import workflow_option
from onward.cli.commands.triggers.firings import (
    FIRING_HEADINGS,
    backfill,
    fire,
    firing_row,
    firings,
    next_times,
    preview,
    trigger_argument,
)
from onward.cli.commands.triggers.options import settings_of, trigger_options
from onward.cli.engines.engine import (
    EngineAddress,
    answer_options,
    remove_command,
    show_all,
    table_of,
    verb_command,
)
from onward.cli.engines.engine import show as show_answer
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.cli.output.tables import Cell
    from onward.client import AsyncEngine

_HEADINGS = ("trigger", "workflow", "kind", "when", "enabled", "next", "of")


@click.group(
    epilog=examples(
        'onward triggers add nightly order --cron "0 2 * * *" --zone Europe/Berlin',
        "onward triggers ls --server http://onward:8700",
    )
)
def triggers() -> None:
    """Start runs on a schedule, by webhook or by event. Masters and `onward dev` fire triggers."""


@triggers.command(
    name="ls", epilog=examples("onward triggers ls", "onward triggers ls --workflow order -o ids")
)
@workflow_option
@option(
    "--kind",
    type=click.Choice(["manual", "cron", "interval", "webhook", "event"]),
    help="Only of this kind.",
)
@answer_options
def list_triggers(workflow: str | None, kind: str | None, engine: EngineAddress) -> int:
    """List triggers by id."""
    return show_all(
        engine,
        lambda client: client.triggers(workflow, kind or ""),
        id_of="trigger_id",
        headings=_HEADINGS,
        row=_row,
    )


@triggers.command(
    epilog=examples("onward triggers show nightly", "onward triggers show nightly -o json")
)
@trigger_argument
@answer_options
def show(trigger_id: str, engine: EngineAddress) -> int:
    """Show a trigger and its latest firings."""

    async def work(client: AsyncEngine) -> dict[str, Any]:
        path = f"/triggers/{trigger_id}/firings"
        latest = await client.call("GET", path, query={"limit": 10})
        return {**await client.trigger(trigger_id), "firings": latest["items"]}

    def people(trigger: Mapping[str, Any]) -> None:
        from onward.cli.output.tables import print_table

        _print_trigger(trigger)
        if trigger["firings"]:
            print_table(FIRING_HEADINGS, map(firing_row, trigger["firings"]))

    return show_answer(engine, work, id_of="trigger_id", people=people)


@triggers.command(
    epilog=examples(
        'onward triggers add nightly order --cron "0 2 * * *" --zone Europe/Berlin',
        "onward triggers add paid order --webhook paid --respond result",
    )
)
@click.argument("trigger_id", metavar="TRIGGER")
@click.argument("workflow_id", metavar="WORKFLOW", shell_complete=workflow_ids)
@trigger_options
@option("--disabled", is_flag=True, help="Add it disabled.")
@answer_options
def add(
    trigger_id: str,
    workflow_id: str,
    disabled: bool,
    engine: EngineAddress,
    **given: Any,
) -> int:
    """Add TRIGGER, which starts runs of WORKFLOW.

    Give --cron, --every, --webhook, --event or --manual. The secret of a webhook is printed once.
    """
    settings = settings_of(given)

    async def work(client: AsyncEngine) -> dict[str, Any]:
        return await client.add_trigger(
            workflow_id, settings, trigger_id=trigger_id, enabled=not disabled
        )

    return _show_secret(engine, work)


@triggers.command(
    epilog=examples(
        'onward triggers change nightly --cron "0 3 * * *" --zone Europe/Berlin',
        "onward triggers change paid --webhook paid --respond accepted",
    )
)
@trigger_argument
@trigger_options
@option("--disabled", is_flag=True, help="Disable it as well.")
@answer_options
def change(trigger_id: str, disabled: bool, engine: EngineAddress, **given: Any) -> int:
    """Replace the settings of TRIGGER with others of the same kind, given as for `add`.

    A schedule continues from now.
    """
    settings = settings_of(given)

    async def work(client: AsyncEngine) -> dict[str, Any]:
        return await client.change_trigger(trigger_id, settings, enabled=not disabled)

    return _show_secret(engine, work)


@triggers.command(
    epilog=examples("onward triggers rotate paid", "onward triggers rotate paid --keep-previous")
)
@trigger_argument
@option("--keep-previous", is_flag=True, help="Accept the old secret too, until the next rotation.")
@answer_options
def rotate(trigger_id: str, keep_previous: bool, engine: EngineAddress) -> int:
    """Replace the secret of a webhook. The new one is printed once."""

    async def work(client: AsyncEngine) -> dict[str, Any]:
        return await client.rotate_trigger(trigger_id, keep_previous=keep_previous)

    return _show_secret(engine, work)


def _show_secret(
    engine: EngineAddress, work: Callable[[AsyncEngine], Awaitable[dict[str, Any]]]
) -> int:
    """Show a trigger, and its secret if it has a new one."""

    def people(trigger: Mapping[str, Any]) -> None:
        from onward.cli.output.console import say

        _print_trigger(trigger)
        if trigger["url"]:
            click.echo(f"url     {trigger['url']}")
        if trigger["secret"]:
            click.echo(f"secret  {trigger['secret']}")
            say("save the secret: it is not shown again")

    return show_answer(engine, work, id_of="trigger_id", people=people, need="write")


def _row(trigger: Mapping[str, Any]) -> tuple[Cell, ...]:
    from onward.cli.output.tables import time_cell

    settings = trigger["settings"]
    return (
        trigger["trigger_id"],
        trigger["workflow_id"],
        settings["kind"],
        _when(settings),
        ("yes", "green") if trigger["enabled"] else ("no", "yellow"),
        time_cell(trigger["next_at"]),
        "document" if trigger["of_document"] else "",
    )


def _when(settings: Mapping[str, Any]) -> str:
    from onward.cli.output.durations import seconds

    match settings["kind"]:
        case "cron":
            return f"{settings['expression']} {settings['time_zone']}"
        case "interval":
            return f"every {seconds(settings['every_ms'])}"
        case "webhook":
            return str(settings["path"])
        case "event":
            return str(settings["type"] or "any")
        case "after":
            return f"{seconds(settings['delay_ms'])} after the last run"
        case "on":
            return " ".join(settings["types"]) or "any"
        case _:
            return ""


_print_trigger = table_of(_HEADINGS, _row)
_verb = partial(
    verb_command,
    argument=trigger_argument,
    sample="nightly",
    id_of="trigger_id",
    people=_print_trigger,
    need="write",
)

for _command in (
    _verb(
        "triggers enable",
        "Enable a trigger.",
        call=lambda client, name: client.enable_trigger(name),
    ),
    _verb(
        "triggers disable",
        "Disable a trigger. Firings that are waiting, also of a backfill, are dropped.",
        call=lambda client, name: client.disable_trigger(name),
    ),
    remove_command(
        "triggers rm",
        "Remove a trigger and the record of its firings. Its runs continue.",
        trigger_argument,
        lambda client, name: client.remove_trigger(name),
        sample="nightly",
        need="write",
    ),
    next_times,
    preview,
    fire,
    backfill,
    firings,
):
    triggers.add_command(_command)
