"""`onward runs start`, `watch`, `events` and `explain`: runs that go on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.commands.completion import workflow_ids
from onward.cli.commands.runs.selection import RUN, ended, execution, show_run, timeout
from onward.cli.engines import server
from onward.cli.engines.server import output, place
from onward.cli.options import examples, option
from onward.cli.output.durations import span

if TYPE_CHECKING:
    from onward.client import AsyncEngine


@click.command(
    epilog=examples(
        "onward runs start order -i customer=Ada --server http://onward:8700",
        "onward runs start order --input @order.json --key order-4711 --wait -o json | jq .output",
    )
)
@click.argument("workflow", shell_complete=workflow_ids)
@options.given
@option("--version", type=click.IntRange(1), help="Of the workflow.  [default: the published one]")
@options.idempotency_key("Starting again with the same key starts nothing.")
@option(
    "--priority",
    type=click.IntRange(0, 5),
    default=0,
    show_default=True,
    help="The higher, the sooner.",
)
@option(
    "--time-limit",
    "limit_ms",
    callback=span,
    metavar="SPAN",
    help="Fail the run when it takes longer: 90s, 15m, 12h.  [default: never]",
)
@option("--wait", is_flag=True, help="Wait for the end, and print the output.")
@timeout
@output
@place
def start(workflow: str, wait: bool, timeout_s: float | None, output: str, **given: Any) -> int:
    """Start a run of WORKFLOW, or of the document in the file of that name, and print its id.

    In a file nobody else would execute it, so there the command always waits for the end.
    """
    from onward.cli.input.run_input import read_run_input

    at = server.where(given)
    value = read_run_input(given["whole"], given["pairs"])
    waits = wait or not at.server
    if timeout_s is not None and not waits:
        raise click.UsageError("--timeout says how long to wait: add --wait")
    what = Path(workflow) if re.search(r"\.(ya?ml|json)$", workflow) else workflow

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.input.documents import read_text
        from onward.cli.output.run_result import say

        document = read_text(what).decode() if isinstance(what, Path) else what
        run = await engine.start(
            document,
            value,
            version=given["version"],
            key=given["key"],
            execution_id=given["execution_id"],
            priority=given["priority"],
            timeout_ms=given["limit_ms"],
        )
        if not waits:
            show_run(await engine.call("GET", f"/runs/{run.id}"), output, ids=True)
            return 0
        say(f"started {run.id}")
        return await ended(run, timeout_s, output)

    return server.talk(at, ask, need="run")


@click.command(
    epilog=examples(
        f"onward runs watch {RUN}", f"onward runs watch {RUN} --server http://onward:8700 -o jsonl"
    )
)
@execution
@option("--after", type=click.IntRange(0), default=0, help="Begin after the event of this number.")
@timeout
@output
@place
def watch(execution_id: str, after: int, timeout_s: float | None, output: str, **given: Any) -> int:
    """Follow a run live until it has ended; 0 when it completed.

    A connection that breaks is made again: every event is told once and in order.
    """

    async def ask(engine: AsyncEngine) -> int:
        import asyncio

        from onward.cli.output.event_lines import line_of
        from onward.cli.output.run_result import print_json, say

        run = engine.run(execution_id)
        try:
            async with asyncio.timeout(timeout_s):
                await run.info()
                async for event in run.events(after):
                    if output == "table":
                        click.echo(line_of(event))
                    elif output == "ids":
                        click.echo(str(event.seq))
                    else:
                        print_json(event)
                ended = await run.wait()
        except TimeoutError:
            say(f"{execution_id} has not ended after {timeout_s:g} s; it goes on")
            return server.TIMED_OUT
        say(f"{ended.status}: {execution_id}")
        return 0 if ended.status == "completed" else server.FAILED

    return server.talk(server.where(given), ask)


@click.command(
    epilog=examples(f"onward runs events {RUN}", f"onward runs events {RUN} --after 120 -o jsonl")
)
@execution
@option("--after", type=click.IntRange(0), default=0, help="Begin after the event of this number.")
@output
@place
def events(execution_id: str, after: int, output: str, **given: Any) -> int:
    """List what has happened in a run so far, numbered from 1 without gaps."""

    async def ask(engine: AsyncEngine) -> int:
        import msgspec

        from onward.cli.output.event_lines import line_of
        from onward.cli.output.run_result import print_json
        from onward.client.values import Event

        found: list[Any] = []
        last, more = after, True
        while more:
            query = {"after": last, "limit": 1000}
            page = await engine.call("GET", f"/runs/{execution_id}/events", query=query)
            last, more = page["last_seq"], page["more"]
            for one in page["items"]:
                if output == "json":
                    found.append(one)
                elif output == "jsonl":
                    print_json(one)
                elif output == "ids":
                    click.echo(str(one["seq"]))
                else:
                    click.echo(f"{one['seq']}  {line_of(msgspec.convert(one, Event))}")
        if output == "json":
            print_json(found)
        return 0

    return server.talk(server.where(given), ask)


@click.command(
    epilog=examples(f"onward runs explain {RUN}", f"onward runs explain {RUN} -o json | jq .waits")
)
@execution
@output
@place
def explain(execution_id: str, output: str, **given: Any) -> int:
    """Say what a run waits for."""

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.tables import show_one

        found = await engine.call("GET", f"/runs/{execution_id}:explain")

        def people() -> None:
            click.echo(f"{execution_id} ({found['workflow_id']}): {found['summary']}")
            for one in found["waits"]:
                click.echo(f"  - {one['text']}")

        show_one(found, output, id_of="execution_id", people=people)
        return 0

    return server.talk(server.where(given), ask)
