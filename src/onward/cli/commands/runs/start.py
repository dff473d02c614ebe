"""`onward runs start`, `watch` and `events`: runs from their start to their end."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes, options
from onward.cli.commands.completion import workflow_ids
from onward.cli.commands.runs.selection import (
    SAMPLE_RUN,
    check_timeout,
    run_argument,
    show_run,
    still_running,
    wait_and_show,
)
from onward.cli.engines.engine import EngineAddress, answer_options, ask
from onward.cli.options import examples, option
from onward.cli.output.durations import span

if TYPE_CHECKING:
    from onward.client import AsyncEngine
    from onward.client.values import Event

EVENTS_PAGE = 1000
_after = option(
    "--after", type=click.IntRange(0), default=0, help="Begin after the event of this number."
)


@click.command(
    epilog=examples(
        "onward runs start order -i customer=Ada --server http://onward:8700",
        "onward runs start order --input @order.json --key order-4711 --wait -o json | jq .output",
    )
)
@click.argument("workflow", shell_complete=workflow_ids)
@options.new_run
@option("--version", type=click.IntRange(1), help="The version.  [default: the published one]")
@options.idempotency_key("Start the run once: starting again with the same key does nothing.")
@option(
    "--priority",
    type=click.IntRange(0, 5),
    default=0,
    show_default=True,
    help="Runs of a higher priority are executed first.",
)
@option(
    "--time-limit",
    "limit_ms",
    callback=span,
    metavar="SPAN",
    help="Fail the run if it takes longer, such as 90s, 15m or 12h.  [default: no limit]",
)
@options.wait
@options.timeout
@answer_options
def start(
    workflow: str,
    value: Any,
    execution_id: str | None,
    version: int | None,
    key: str | None,
    priority: int,
    limit_ms: int | None,
    wait: bool,
    timeout_s: float | None,
    engine: EngineAddress,
) -> int:
    """Start a run of WORKFLOW, or of the document in a file of that name, and print its id.

    On a database file no other process would execute the run: the command always waits for its end.
    """
    waits = wait or not engine.server
    check_timeout(timeout_s, waits=waits)
    is_file = re.search(r"\.(ya?ml|json)$", workflow) is not None

    async def work(client: AsyncEngine) -> int:
        from onward.cli.input.documents import read_text
        from onward.cli.output.console import say

        run = await client.start(
            read_text(Path(workflow)).decode() if is_file else workflow,
            value,
            version=version,
            key=key,
            execution_id=execution_id,
            priority=priority,
            timeout_ms=limit_ms,
        )
        if not waits:
            show_run(await client.call("GET", f"/runs/{run.id}"), engine.form, only_id=True)
            return exit_codes.OK
        say(f"started {run.id}")
        return await wait_and_show(run, timeout_s, engine.form)

    return ask(engine, work, need="run")


@click.command(
    epilog=examples(
        f"onward runs watch {SAMPLE_RUN}",
        f"onward runs watch {SAMPLE_RUN} --server http://onward:8700 -o jsonl",
    )
)
@run_argument
@_after
@options.timeout
@answer_options
def watch(execution_id: str, after: int, timeout_s: float | None, engine: EngineAddress) -> int:
    """Follow a run live until it ends. The exit code is 0 if it completed.

    A broken connection is restored, and every event is printed once and in order.
    """

    async def work(client: AsyncEngine) -> int:
        import asyncio

        from onward.cli.output.console import say

        run = client.run(execution_id)
        try:
            async with asyncio.timeout(timeout_s):
                await run.info()
                async for event in run.events(after):
                    print_event(event, engine.form)
                info = await run.wait()
        except TimeoutError:
            return still_running(execution_id, timeout_s)
        say(f"{info.status}: {execution_id}")
        return exit_codes.OK if info.status == "completed" else exit_codes.FAILED

    return ask(engine, work)


def print_event(event: Event, form: str, *, numbered: bool = False) -> None:
    """Print one event of a run: a line of text, its number, or a line of JSON."""
    from onward.cli.output.console import print_json
    from onward.cli.output.event_lines import line_of

    if form == "table":
        click.echo(f"{event.seq}  {line_of(event)}" if numbered else line_of(event))
    elif form == "ids":
        click.echo(str(event.seq))
    else:
        print_json(event)


@click.command(
    epilog=examples(
        f"onward runs events {SAMPLE_RUN}", f"onward runs events {SAMPLE_RUN} --after 120 -o jsonl"
    )
)
@run_argument
@_after
@answer_options
def events(execution_id: str, after: int, engine: EngineAddress) -> int:
    """List the events of a run so far, numbered from 1 without gaps."""

    async def work(client: AsyncEngine) -> int:
        import msgspec

        from onward.cli.output.console import print_json
        from onward.client.values import Event

        found: list[Any] = []
        last, more = after, True
        while more:
            query = {"after": last, "limit": EVENTS_PAGE}
            page = await client.call("GET", f"/runs/{execution_id}/events", query=query)
            last, more = page["last_seq"], page["more"]
            for facts in page["items"]:
                match engine.form:
                    case "json":
                        found.append(facts)
                    case "jsonl":
                        print_json(facts)
                    case _:
                        print_event(msgspec.convert(facts, Event), engine.form, numbered=True)
        if engine.form == "json":
            print_json(found)
        return exit_codes.OK

    return ask(engine, work)
