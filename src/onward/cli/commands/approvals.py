"""`onward approvals`: what people are asked to decide, and deciding it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import click

from onward.cli.commands.completion import run_ids
from onward.cli.commands.runs.selection import RUN, executions
from onward.cli.engines import server
from onward.cli.engines.server import Found, output, place, tell_all
from onward.cli.options import F, examples, option

if TYPE_CHECKING:
    from onward.cli.output.tables import Cell
    from onward.client import AsyncEngine

_HEADINGS = ("run", "node", "item", "message", "decided", "asked", "until")


@click.group(
    epilog=examples("onward approvals ls", f"onward approvals approve {RUN} --as ada@example.com")
)
def approvals() -> None:
    """List what people are asked to decide, and decide it."""


@approvals.command(
    name="ls",
    epilog=examples(
        "onward approvals ls --server http://onward:8700", f"onward approvals ls {RUN} -o json"
    ),
)
@executions
@option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=100,
    show_default=True,
    help="The most runs to look at, newest first.",
)
@output
@place
def list_all(execution_ids: tuple[str, ...], limit: int, output: str, **given: Any) -> int:
    """List what is to be decided in runs that go on, or in those that are named.

    With -o json or jsonl each comes with the signed link of everybody who has not decided.
    """

    async def found(engine: AsyncEngine) -> Found:
        runs = list(execution_ids) or [one async for one in _going_on(engine, limit)]
        for run in runs:
            for wait in await engine.run(run).waits():
                if wait["kind"] == "approval":
                    yield {**wait, "execution_id": run}

    return tell_all(given, output, found, id_of="execution_id", headings=_HEADINGS, row=_row)


async def _going_on(engine: AsyncEngine, limit: int) -> Any:
    query = {"status": "running", "limit": min(limit, 200)}
    count = 0
    async with aclosing(engine.pages(dict[str, Any], "/runs", **query)) as pages:
        async for page in pages:
            yield page["execution_id"]
            count += 1
            if count >= limit:
                return


def _deciding(command: F) -> F:
    for add in reversed(
        (
            click.argument("what", metavar="EXECUTION|LINK", shell_complete=run_ids),
            option("--as", "person", metavar="NAME", help="In whose name, of those who are asked."),
            option("--node", metavar="ID", default=None, help="Which node, if several ask."),
            option("--item", metavar="ITEM", default=None, help="Which item, if several ask."),
            option("--comment", metavar="TEXT", default="", help="Why; it is kept with the run."),
            output,
            place,
        )
    ):
        command = add(command)
    return command


@approvals.command(
    epilog=examples(
        f"onward approvals approve {RUN} --as ada@example.com --comment fine",
        "onward approvals approve http://onward:8700/api/v1/approvals/eyJ...",
    )
)
@_deciding
def approve(**given: Any) -> int:
    """Approve, in the name of somebody who is asked, or by their LINK. A decision stands."""
    return _decide("approve", given)


@approvals.command(
    epilog=examples(
        f"onward approvals reject {RUN} --as ada@example.com --comment 'too dear'",
        "onward approvals reject http://onward:8700/api/v1/approvals/eyJ...",
    )
)
@_deciding
def reject(**given: Any) -> int:
    """Reject, in the name of somebody who is asked, or by their LINK. A decision stands."""
    return _decide("reject", given)


def _decide(decision: str, given: dict[str, Any]) -> int:
    from onward.cli.commands.runs.signals import is_link, where_of

    what, person, form, comment = (
        given.pop(name) for name in ("what", "person", "output", "comment")
    )
    node, item = given.pop("node"), given.pop("item")
    named = re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", what) is not None
    if named and person is None:
        raise click.UsageError(
            "say who decides: --as NAME; `onward approvals ls` tells who is asked"
        )
    if not named and not is_link(what):
        raise click.UsageError(f"{what[:80]!r} is neither the id of a run nor a link")
    if not named and (person or node or item):
        raise click.UsageError("a link says who decides what: give no --as, --node or --item")

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.tables import show_one

        link = await _link(engine, what, person, node, item) if named else what
        taken = await engine.decide(link, decision, comment)
        said = f"{taken['by']} decided: {taken['decision']}"
        show_one(taken, form, id_of="by", people=lambda: click.echo(said))
        return 0

    if named:
        return server.talk(server.where(given), ask, need="run", run=what)
    return server.talk(where_of(what, given), ask)


async def _link(
    engine: AsyncEngine, run: str, person: str, node: str | None, item: str | None
) -> str:
    """Return the link of a person; UsageError unless exactly one decision of theirs is meant."""
    waits = [
        wait
        for wait in await engine.run(run).waits()
        if wait["kind"] == "approval"
        and node in (None, wait["node_id"])
        and item in (None, wait["item"])
    ]
    if not waits:
        raise click.ClickException(f"{run} asks for no such decision: `onward explain {run}`")
    refused = next((wait["no_links"] for wait in waits if wait["no_links"]), None)
    if refused:
        raise click.ClickException(refused)
    links = [
        (wait["node_id"], wait["item"], each["url"])
        for wait in waits
        for each in wait["links"]
        if each["approver"] == person
    ]
    if not links:
        asked = sorted({each["approver"] for wait in waits for each in wait["links"]})
        raise click.ClickException(f"{person} is not asked: {', '.join(asked) or 'nobody'} is")
    if len(links) > 1:
        places = ", ".join(f"{where} {which}".strip() for where, which, _ in links[:5])
        raise click.UsageError(f"{person} is asked by {places}: say which with --node and --item")
    return str(links[0][2])


def _row(one: Mapping[str, Any]) -> list[Cell]:
    from onward.cli.output.tables import moment

    return [
        one["execution_id"],
        one["node_id"],
        one["item"],
        one["message"] or "",
        f"{len(one['decisions'])} of {one['required']}",
        ", ".join(each["approver"] for each in one["links"]),
        moment(one["expires_at"]),
    ]
