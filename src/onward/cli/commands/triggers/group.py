"""`onward triggers`: what starts runs by itself, on a server or in the file of `onward dev`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from onward.cli.commands.completion import workflow_ids
from onward.cli.commands.triggers.firings import (
    FIRED,
    backfill,
    fire,
    fired_row,
    firings,
    next_times,
    preview,
    trigger_name,
)
from onward.cli.commands.triggers.options import kinds, settings_of
from onward.cli.engines.server import do, output, place, table_of, tell, tell_all
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
    """Let runs start by themselves: by the clock, by requests, by events. Masters fire them."""


@triggers.command(
    name="ls", epilog=examples("onward triggers ls", "onward triggers ls --workflow order -o ids")
)
@option(
    "--workflow",
    "workflow_id",
    metavar="WORKFLOW",
    shell_complete=workflow_ids,
    help="Only those of this workflow.",
)
@option(
    "--kind",
    type=click.Choice(["manual", "cron", "interval", "webhook", "event"]),
    help="Only those of this kind.",
)
@output
@place
def list_all(workflow_id: str | None, kind: str | None, output: str, **given: Any) -> int:
    """List triggers by id."""
    return tell_all(
        given,
        output,
        lambda engine: engine.triggers(workflow_id, kind or ""),
        id_of="trigger_id",
        headings=_HEADINGS,
        row=_row,
    )


@triggers.command(
    epilog=examples("onward triggers show nightly", "onward triggers show nightly -o json")
)
@trigger_name
@output
@place
def show(trigger_id: str, output: str, **given: Any) -> int:
    """Show a trigger and the last times it fired."""

    async def look(engine: AsyncEngine) -> dict[str, Any]:
        path = f"/triggers/{trigger_id}/firings"
        found = await engine.call("GET", path, query={"limit": 10})
        return {**await engine.trigger(trigger_id), "firings": found["items"]}

    def people(one: Mapping[str, Any]) -> None:
        from onward.cli.output.tables import print_table

        _shown(one)
        if one["firings"]:
            print_table(FIRED, map(fired_row, one["firings"]))

    return tell(given, output, look, id_of="trigger_id", people=people)


@triggers.command(
    epilog=examples(
        'onward triggers add nightly order --cron "0 2 * * *" --zone Europe/Berlin',
        "onward triggers add paid order --webhook paid --respond result",
    )
)
@click.argument("trigger_id", metavar="TRIGGER")
@click.argument("workflow_id", metavar="WORKFLOW", shell_complete=workflow_ids)
@kinds
@option("--disabled", is_flag=True, help="Keep it, but do not let it fire yet.")
@output
@place
def add(trigger_id: str, workflow_id: str, disabled: bool, output: str, **given: Any) -> int:
    """Add TRIGGER, which starts runs of WORKFLOW: give --cron, --every, --webhook, --event or
    --manual. The secret of a webhook is shown this once.
    """
    settings = settings_of(given)

    async def add_it(engine: AsyncEngine) -> dict[str, Any]:
        enabled = not disabled
        return await engine.add_trigger(
            workflow_id, settings, trigger_id=trigger_id, enabled=enabled
        )

    return told_once(given, output, add_it)


@triggers.command(
    epilog=examples(
        'onward triggers change nightly --cron "0 3 * * *" --zone Europe/Berlin',
        "onward triggers change paid --webhook paid --respond accepted",
    )
)
@trigger_name
@kinds
@option("--disabled", is_flag=True, help="And do not let it fire.")
@output
@place
def change(trigger_id: str, disabled: bool, output: str, **given: Any) -> int:
    """Give TRIGGER other settings of its kind: all of them, as for `add`. A schedule goes on
    from now.
    """
    settings = settings_of(given)

    async def change_it(engine: AsyncEngine) -> dict[str, Any]:
        return await engine.change_trigger(trigger_id, settings, enabled=not disabled)

    return told_once(given, output, change_it)


@triggers.command(
    epilog=examples("onward triggers rm nightly", "onward triggers rm nightly --db a.db")
)
@trigger_name
@place
def rm(trigger_id: str, **given: Any) -> int:
    """Remove a trigger and what is known of its firings. Its runs go on."""
    said = f"removed {trigger_id}"
    return do(given, said, lambda engine: engine.remove_trigger(trigger_id), need="write")


@triggers.command(
    epilog=examples("onward triggers enable nightly", "onward triggers enable nightly -o json")
)
@trigger_name
@output
@place
def enable(trigger_id: str, output: str, **given: Any) -> int:
    """Let a trigger fire from now on."""
    return _tell(given, output, lambda engine: engine.enable_trigger(trigger_id))


@triggers.command(
    epilog=examples("onward triggers disable nightly", "onward triggers disable nightly -o json")
)
@trigger_name
@output
@place
def disable(trigger_id: str, output: str, **given: Any) -> int:
    """Let a trigger fire no more, and give up what waits, also of a backfill."""
    return _tell(given, output, lambda engine: engine.disable_trigger(trigger_id))


@triggers.command(
    epilog=examples("onward triggers rotate paid", "onward triggers rotate paid --keep-previous")
)
@trigger_name
@option("--keep-previous", is_flag=True, help="Let the secret before pass too, until the next.")
@output
@place
def rotate(trigger_id: str, keep_previous: bool, output: str, **given: Any) -> int:
    """Give a webhook a new secret, which is shown this once."""

    async def rotate_it(engine: AsyncEngine) -> dict[str, Any]:
        return await engine.rotate_trigger(trigger_id, keep_previous=keep_previous)

    return told_once(given, output, rotate_it)


for _command in (next_times, preview, fire, backfill, firings):
    triggers.add_command(_command)


def told_once(
    given: dict[str, Any], form: str, work: Callable[[AsyncEngine], Awaitable[dict[str, Any]]]
) -> int:
    """Show a trigger, and its secret if it has a new one."""

    def people(one: Mapping[str, Any]) -> None:
        from onward.cli.output.run_result import say

        _shown(one)
        if one["url"]:
            click.echo(f"url     {one['url']}")
        if one["secret"]:
            click.echo(f"secret  {one['secret']}")
            say("keep the secret: it is not shown again")

    return tell(given, form, work, id_of="trigger_id", people=people, need="write")


def _row(one: Mapping[str, Any]) -> tuple[Cell, ...]:
    from onward.cli.output.tables import moment

    settings = one["settings"]
    return (
        one["trigger_id"],
        one["workflow_id"],
        settings["kind"],
        _when(settings),
        ("yes", "green") if one["enabled"] else ("no", "yellow"),
        moment(one["next_at"]),
        "document" if one["of_document"] else "",
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


_shown = table_of(_HEADINGS, _row)
_tell = partial(tell, id_of="trigger_id", people=_shown, need="write")
