"""`weft triggers`: what starts runs by itself, on a server or in the file of `weft dev`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from weft.cli import remote
from weft.cli.completing import workflow_ids
from weft.cli.options import examples, option
from weft.cli.remote import output, place
from weft.cli.trigger_options import kinds, settings_of

if TYPE_CHECKING:
    from weft.api.client import AsyncEngine
    from weft.cli.tables import Cell

_HEADINGS = ("trigger", "workflow", "kind", "when", "enabled", "next", "of")
_name = click.argument("trigger_id", metavar="TRIGGER")


@click.group(
    epilog=examples(
        'weft triggers add nightly order --cron "0 2 * * *" --zone Europe/Berlin',
        "weft triggers ls --server http://weft:8700",
    )
)
def triggers() -> None:
    """Let runs start by themselves: by the clock, by requests, by events. Masters fire them."""


@triggers.command(
    name="ls", epilog=examples("weft triggers ls", "weft triggers ls --workflow order -o ids")
)
@option("--workflow", "workflow_id", metavar="WORKFLOW", help="Only those of this workflow.")
@output
@place
def list_all(workflow_id: str | None, output: str, **given: Any) -> int:
    """List triggers by id."""

    async def ask(engine: AsyncEngine) -> int:
        from weft.cli.showing import show_list

        found = engine.pages(dict[str, Any], "/triggers", workflow_id=workflow_id, limit=200)
        await show_list(found, output, id_of="trigger_id", headings=_HEADINGS, row=_row)
        return 0

    return remote.talk(remote.where(given), ask)


@triggers.command(
    epilog=examples("weft triggers show nightly", "weft triggers show nightly -o json")
)
@_name
@output
@place
def show(trigger_id: str, output: str, **given: Any) -> int:
    """Show a trigger and the last times it fired."""

    async def ask(engine: AsyncEngine) -> int:
        from weft.cli.showing import show_one
        from weft.cli.tables import print_table

        one = await engine.call("GET", f"/triggers/{trigger_id}")
        found = await engine.call("GET", f"/triggers/{trigger_id}/firings", query={"limit": 10})

        def people() -> None:
            print_table(_HEADINGS, [_row(one)])
            if found["items"]:
                print_table(("due", "cause", "state", "run", "error"), map(_fired, found["items"]))

        whole = {**one, "firings": found["items"]}
        show_one(whole, output, id_of="trigger_id", people=people)
        return 0

    return remote.talk(remote.where(given), ask)


@triggers.command(
    epilog=examples(
        'weft triggers add nightly order --cron "0 2 * * *" --zone Europe/Berlin',
        "weft triggers add paid order --webhook paid --respond result",
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
    at = remote.where(given)
    body = {
        "trigger_id": trigger_id,
        "workflow_id": workflow_id,
        "enabled": not disabled,
        "settings": settings_of(given),
    }

    async def ask(engine: AsyncEngine) -> int:
        from weft.cli.answers import say
        from weft.cli.showing import show_one

        made = await engine.call("POST", "/triggers", body=body)
        show_one(made, output, id_of="trigger_id", people=lambda: _tell(made))
        if made["secret"] and output == "table":
            say("keep the secret: it is not shown again")
        return 0

    return remote.talk(at, ask, need="write")


@triggers.command(epilog=examples("weft triggers rm nightly", "weft triggers rm nightly --db a.db"))
@_name
@place
def rm(trigger_id: str, **given: Any) -> int:
    """Remove a trigger and what is known of its firings. Its runs go on."""

    async def ask(engine: AsyncEngine) -> int:
        from weft.cli.answers import say

        await engine.call("DELETE", f"/triggers/{trigger_id}")
        say(f"removed {trigger_id}")
        return 0

    return remote.talk(remote.where(given), ask, need="write")


@triggers.command(
    epilog=examples("weft triggers enable nightly", "weft triggers enable nightly -o json")
)
@_name
@output
@place
def enable(trigger_id: str, output: str, **given: Any) -> int:
    """Let a trigger fire from now on."""
    return _switch(trigger_id, "enable", output, given)


@triggers.command(
    epilog=examples("weft triggers disable nightly", "weft triggers disable nightly -o json")
)
@_name
@output
@place
def disable(trigger_id: str, output: str, **given: Any) -> int:
    """Let a trigger fire no more, and give up what waits, also of a backfill."""
    return _switch(trigger_id, "disable", output, given)


@triggers.command(
    name="next",
    epilog=examples(
        "weft triggers next nightly --count 10",
        "weft triggers next nightly --after 2026-10-24T00:00:00Z",
    ),
)
@_name
@option("--count", type=click.IntRange(1, 100), default=5, show_default=True, help="How many.")
@option("--after", metavar="TIME", help="RFC 3339.  [default: now]")
@place
def next_times(trigger_id: str, count: int, after: str | None, **given: Any) -> int:
    """Print when a schedule is due next, a line for each time, in UTC."""

    async def ask(engine: AsyncEngine) -> int:
        query = {"count": count, "after": after}
        found = await engine.call("GET", f"/triggers/{trigger_id}/next", query=query)
        for one in found["times"]:
            click.echo(one)
        return 0

    return remote.talk(remote.where(given), ask)


@triggers.command(
    epilog=examples(
        "weft triggers fire nightly --server http://weft:8700",
        "weft triggers fire greeting -i name=Ada --key greeting-1",
    )
)
@_name
@option("--input", "whole", metavar="JSON|@FILE|-", help="The input.  [default: the trigger's]")
@click.option(
    "-i",
    "pairs",
    multiple=True,
    metavar="KEY=TEXT|KEY:=JSON",
    help="Set one key of the input; may be repeated.",
)
@option("--key", metavar="TEXT", help="Firing again with the same key fires nothing.")
@output
@place
def fire(trigger_id: str, key: str | None, output: str, **given: Any) -> int:
    """Start a run now, and print its id. In a file the command waits for its end."""
    from weft.cli.given import read_given

    at = remote.where(given)
    named = given["whole"] is not None or given["pairs"]
    body = {"input": read_given(given["whole"], given["pairs"])} if named else {}
    headers = {"idempotency-key": key} if key else {}

    async def ask(engine: AsyncEngine) -> int:
        from weft.cli.showing import show_one

        path = f"/triggers/{trigger_id}:fire"
        fired = await engine.call("POST", path, body=body, headers=headers)
        run = fired["execution_id"]
        show_one(fired, output, id_of="execution_id", people=lambda: click.echo(run))
        if not at.server:
            await engine.run(run).result()
        return 0

    return remote.talk(at, ask, need="run")


@triggers.command(
    epilog=examples(
        "weft triggers backfill nightly --from 2026-03-01T00:00:00Z --until 2026-03-08T00:00:00Z",
        "weft triggers backfill nightly --from 2026-03-01 --until 2026-03-08 --overlap allow",
    )
)
@_name
@option("--from", "start_at", required=True, metavar="TIME", help="RFC 3339, or a day.")
@option("--until", "end_at", required=True, metavar="TIME", help="RFC 3339, or a day.")
@option(
    "--overlap",
    type=click.Choice(["queue", "allow"]),
    default="queue",
    show_default=True,
    help="One run after the other, or all at once.",
)
@output
@place
def backfill(trigger_id: str, output: str, **given: Any) -> int:
    """Fire for every time of a schedule in a range that has not fired yet."""
    at = remote.where(given)

    async def ask(engine: AsyncEngine) -> int:
        from weft.cli.answers import print_json

        done = await engine.call("POST", f"/triggers/{trigger_id}/backfills", body=given)
        if output == "table":
            click.echo(f"{done['added']} of {done['times']} times will fire")
        else:
            print_json(done)
        return 0

    return remote.talk(at, ask, need="write")


def _switch(trigger_id: str, verb: str, output: str, given: dict[str, Any]) -> int:
    async def ask(engine: AsyncEngine) -> int:
        from weft.cli.showing import show_one

        one = await engine.call("POST", f"/triggers/{trigger_id}:{verb}")
        show_one(one, output, id_of="trigger_id", people=lambda: _tell(one))
        return 0

    return remote.talk(remote.where(given), ask, need="write")


def _tell(one: Mapping[str, Any]) -> None:
    from weft.cli.tables import print_table

    print_table(_HEADINGS, [_row(one)])
    if one.get("url"):
        click.echo(f"url     {one['url']}")
    if one.get("secret"):
        click.echo(f"secret  {one['secret']}")


def _row(one: Mapping[str, Any]) -> tuple[Cell, ...]:
    from weft.cli.showing import moment

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
    from weft.cli.durations import seconds

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


def _fired(one: Mapping[str, Any]) -> tuple[Cell, ...]:
    from weft.cli.showing import moment

    colour = {"started": "green", "refused": "red", "skipped": "yellow"}.get(one["state"], "")
    return (
        moment(one["due_at"]),
        one["cause"],
        (one["state"], colour),
        one["execution_id"] or "",
        one["note"],
    )
