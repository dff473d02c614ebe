"""`weft runs start`, `watch`, `events`, `cancel` and `explain`: runs that go on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli import options, remote
from weft.cli.completing import run_ids, workflow_ids
from weft.cli.options import examples, option
from weft.cli.remote import output, place
from weft.cli.run_parts import execution

if TYPE_CHECKING:
    from weft.api.client import AsyncEngine, AsyncRun

_RUN = "run_01JD8Z4Q6T3V5X7Y9A2C4E6G8J"

_timeout = option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="How long to wait; the run goes on.  [default: until it ends]",
)


@click.command(
    epilog=examples(
        "weft runs start order -i customer=Ada --server http://weft:8700",
        "weft runs start order --input @order.json --key order-4711 --wait -o json | jq .output",
    )
)
@click.argument("workflow", shell_complete=workflow_ids)
@options.given
@option("--version", type=click.IntRange(1), help="Of the workflow.  [default: the published one]")
@option("--key", metavar="TEXT", help="Starting again with the same key starts nothing.")
@option("--wait", is_flag=True, help="Wait for the end, and print the output.")
@_timeout
@output
@place
def start(workflow: str, wait: bool, timeout_s: float | None, output: str, **given: Any) -> int:
    """Start a run of WORKFLOW, or of the document in the file of that name, and print its id.

    In a file nobody else would execute it, so there the command always waits for the end.
    """
    from weft.cli.given import read_given

    at = remote.where(given)
    value = read_given(given["whole"], given["pairs"])
    waits = wait or not at.server
    if timeout_s is not None and not waits:
        raise click.UsageError("--timeout says how long to wait: add --wait")
    what = Path(workflow) if re.search(r"\.(ya?ml|json)$", workflow) else workflow

    async def ask(engine: AsyncEngine) -> int:
        from weft.cli.answers import say
        from weft.cli.sources import read_text

        document = read_text(what).decode() if isinstance(what, Path) else what
        run = await engine.start(
            document,
            value,
            version=given["version"],
            key=given["key"],
            execution_id=given["execution_id"],
        )
        if not waits:
            _show(await engine.call("GET", f"/runs/{run.id}"), output, ids=True)
            return 0
        say(f"started {run.id}")
        return await _ended(run, timeout_s, output)

    return remote.talk(at, ask, need="run")


@click.command(
    epilog=examples(
        f"weft runs watch {_RUN}", f"weft runs watch {_RUN} --server http://weft:8700 -o jsonl"
    )
)
@execution
@option("--after", type=click.IntRange(0), default=0, help="Begin after the event of this number.")
@_timeout
@output
@place
def watch(execution_id: str, after: int, timeout_s: float | None, output: str, **given: Any) -> int:
    """Follow a run live until it has ended; 0 when it completed.

    A connection that breaks is made again: every event is told once and in order.
    """

    async def ask(engine: AsyncEngine) -> int:
        import asyncio

        from weft.cli.answers import print_json, say
        from weft.cli.following import line_of

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
            return remote.TIMED_OUT
        say(f"{ended.status}: {execution_id}")
        return 0 if ended.status == "completed" else remote.FAILED

    return remote.talk(remote.where(given), ask)


@click.command(
    epilog=examples(f"weft runs events {_RUN}", f"weft runs events {_RUN} --after 120 -o jsonl")
)
@execution
@option("--after", type=click.IntRange(0), default=0, help="Begin after the event of this number.")
@output
@place
def events(execution_id: str, after: int, output: str, **given: Any) -> int:
    """List what has happened in a run so far, numbered from 1 without gaps."""

    async def ask(engine: AsyncEngine) -> int:
        import msgspec

        from weft.api.client.values import Event
        from weft.cli.answers import print_json
        from weft.cli.following import line_of

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

    return remote.talk(remote.where(given), ask)


@click.command(
    epilog=examples(
        f"weft runs cancel {_RUN} --reason 'wrong customer'",
        "weft runs ls --workflow order --status running -o ids | xargs weft runs cancel",
    )
)
@click.argument(
    "execution_ids", metavar="EXECUTION...", nargs=-1, required=True, shell_complete=run_ids
)
@option("--reason", metavar="TEXT", default="", help="Why; it is kept with the run.")
@output
@place
def cancel(execution_ids: tuple[str, ...], reason: str, output: str, **given: Any) -> int:
    """End runs as cancelled. Whatever their running nodes come to has no effect."""
    at = remote.where(given)
    worst = 0
    for one in execution_ids:

        async def ask(engine: AsyncEngine, run: str = one) -> int:
            path = f"/runs/{run}:cancel"
            _show(await engine.call("POST", path, body={"reason": reason}), output)
            return 0

        worst = max(worst, remote.talk(at, ask, need="run", run=one))
    return worst


@click.command(
    epilog=examples(f"weft runs explain {_RUN}", f"weft runs explain {_RUN} -o json | jq .waits")
)
@execution
@output
@place
def explain(execution_id: str, output: str, **given: Any) -> int:
    """Say what a run waits for."""

    async def ask(engine: AsyncEngine) -> int:
        from weft.cli.showing import show_one

        found = await engine.call("GET", f"/runs/{execution_id}:explain")

        def people() -> None:
            click.echo(f"{execution_id} ({found['workflow_id']}): {found['summary']}")
            for one in found["waits"]:
                click.echo(f"  - {one['text']}")

        show_one(found, output, id_of="execution_id", people=people)
        return 0

    return remote.talk(remote.where(given), ask)


async def _ended(run: AsyncRun, timeout_s: float | None, form: str) -> int:
    """Wait for the end of a run, and print what it came to."""
    import msgspec

    from weft.cli.answers import print_json, print_pretty, say
    from weft.cli.durations import seconds

    try:
        ended = await run.wait(timeout_s)
    except TimeoutError:
        say(f"{run.id} has not ended after {timeout_s:g} s; it goes on")
        return remote.TIMED_OUT
    done = ended.status == "completed"
    whole = await run.result() if done else None
    if form == "ids":
        click.echo(run.id)
    elif form == "table":
        if done:
            print_pretty(whole)
    else:
        print_json({**msgspec.to_builtins(ended), "output": whole})
    say(f"{ended.status} after {seconds(ended.duration_ms or 0)}: {run.id}")
    if ended.error:
        say(f"  error  {ended.error.get('message')} [{ended.error.get('code')}]")
    return 0 if done else remote.FAILED


def _show(run: dict[str, Any], form: str, *, ids: bool = False) -> None:
    from weft.cli.run_parts import run_row
    from weft.cli.showing import show_one
    from weft.cli.tables import print_table

    def people() -> None:
        if ids:
            click.echo(run["execution_id"])
        else:
            print_table(("run", "workflow", "status", "started", "took"), [run_row(run)])

    show_one(run, form, id_of="execution_id", people=people)
