"""`onward approvals`: what people are asked to decide, and deciding it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import click

from onward.cli.commands.completion import run_ids
from onward.cli.commands.runs.selection import SAMPLE_RUN, runs_argument
from onward.cli.commands.runs.signals import engine_of_link, is_link
from onward.cli.engines.engine import (
    EngineAddress,
    FactsStream,
    answer_options,
    show,
    show_all,
)
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.cli.output.tables import Cell
    from onward.client import AsyncEngine

_HEADINGS = ("run", "node", "item", "message", "decided", "asked", "until")


@click.group(
    epilog=examples(
        "onward approvals ls", f"onward approvals approve {SAMPLE_RUN} --as ada@example.com"
    )
)
def approvals() -> None:
    """List pending approvals, and approve or reject them."""


@approvals.command(
    name="ls",
    epilog=examples(
        "onward approvals ls --server http://onward:8700",
        f"onward approvals ls {SAMPLE_RUN} -o json",
    ),
)
@runs_argument
@option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=100,
    show_default=True,
    help="How many runs to search, newest first.",
)
@answer_options
def list_approvals(execution_ids: tuple[str, ...], limit: int, engine: EngineAddress) -> int:
    """List the pending approvals of all running runs, or of those named.

    With -o json or jsonl each has the signed links of the approvers who have not decided yet.
    """

    async def stream(client: AsyncEngine) -> FactsStream:
        run_ids = list(execution_ids) or [run_id async for run_id in _running(client, limit)]
        for run_id in run_ids:
            for wait in await client.run(run_id).waits():
                if wait["kind"] == "approval":
                    yield {**wait, "execution_id": run_id}

    return show_all(engine, stream, id_of="execution_id", headings=_HEADINGS, row=_row)


async def _running(client: AsyncEngine, limit: int) -> AsyncIterator[str]:
    query = {"status": "running", "limit": min(limit, 200)}
    count = 0
    async with aclosing(client.pages(dict[str, Any], "/runs", **query)) as pages:
        async for run in pages:
            yield run["execution_id"]
            count += 1
            if count >= limit:
                return


def _decision_command(verb: str, comment: str) -> click.Command:
    """Return `approve` or `reject`."""

    @click.command(
        name=verb,
        help=f"{verb.capitalize()} in the name of an approver (--as), or by the LINK of one."
        " A decision is final.",
        epilog=examples(
            f"onward approvals {verb} {SAMPLE_RUN} --as ada@example.com --comment '{comment}'",
            f"onward approvals {verb} http://onward:8700/api/v1/approvals/eyJ...",
        ),
    )
    @click.argument("what", metavar="RUN|LINK", shell_complete=run_ids)
    @option("--as", "person", metavar="NAME", help="The approver who decides.")
    @option("--node", metavar="NODE", default=None, help="The node, if several wait.")
    @option("--item", metavar="ITEM", default=None, help="The item, if several wait.")
    @option("--comment", metavar="TEXT", default="", help="A comment, recorded with the run.")
    @answer_options
    def command(
        what: str,
        person: str | None,
        node: str | None,
        item: str | None,
        comment: str,
        engine: EngineAddress,
    ) -> int:
        by_run = re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", what) is not None
        if by_run and person is None:
            raise click.UsageError(
                "name the approver with --as NAME; `onward approvals ls` lists them"
            )
        if not by_run and not is_link(what):
            raise click.UsageError(f"{what[:80]!r} is neither the id of a run nor a link")
        if not by_run and (person or node or item):
            raise click.UsageError("a link names approver and node: omit --as, --node and --item")

        async def work(client: AsyncEngine) -> Any:
            link = await _link(client, what, person or "", node, item) if by_run else what
            return await client.decide(link, verb, comment)

        def people(decision: Mapping[str, Any]) -> None:
            click.echo(f"{decision['by']} decided: {decision['decision']}")

        if by_run:
            return show(engine, work, id_of="by", people=people, need="run", run_id=what)
        return show(engine_of_link(what, engine), work, id_of="by", people=people)

    return command


approvals.add_command(_decision_command("approve", "fine"))
approvals.add_command(_decision_command("reject", "too expensive"))


async def _link(
    client: AsyncEngine, run_id: str, person: str, node: str | None, item: str | None
) -> str:
    """Return the link of an approver; UsageError unless exactly one decision of theirs matches."""
    waits = [
        wait
        for wait in await client.run(run_id).waits()
        if wait["kind"] == "approval"
        and node in (None, wait["node_id"])
        and item in (None, wait["item"])
    ]
    if not waits:
        raise click.ClickException(
            f"{run_id} waits for no such approval: `onward explain {run_id}` says what it waits for"
        )
    refused = next((wait["no_links"] for wait in waits if wait["no_links"]), None)
    if refused:
        raise click.ClickException(refused)
    links = [
        (wait["node_id"], wait["item"], link["url"])
        for wait in waits
        for link in wait["links"]
        if link["approver"] == person
    ]
    if not links:
        pending = sorted({link["approver"] for wait in waits for link in wait["links"]})
        raise click.ClickException(
            f"{person} is not a pending approver: {', '.join(pending) or 'there is none'}"
        )
    if len(links) > 1:
        places = ", ".join(f"{node} {item}".strip() for node, item, _ in links[:5])
        raise click.UsageError(
            f"{person} is asked by several nodes ({places}): give --node and --item"
        )
    return str(links[0][2])


def _row(wait: Mapping[str, Any]) -> list[Cell]:
    from onward.cli.output.tables import time_cell

    return [
        wait["execution_id"],
        wait["node_id"],
        wait["item"],
        wait["message"] or "",
        f"{len(wait['decisions'])} of {wait['required']}",
        ", ".join(link["approver"] for link in wait["links"]),
        time_cell(wait["expires_at"]),
    ]
