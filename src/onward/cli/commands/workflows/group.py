"""`onward workflows`: stored documents, their versions, and the version that new runs use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes
from onward.cli.commands.workflows.start_rules import flow, workflow_argument
from onward.cli.engines.engine import (
    EngineAddress,
    FactsStream,
    answer_options,
    ask,
    engine_options,
    show_all,
    table_of,
    verb_command,
)
from onward.cli.engines.engine import show as show_answer
from onward.cli.options import examples, file_argument, option

if TYPE_CHECKING:
    from onward.cli.output.tables import Cell
    from onward.client import AsyncEngine

_HEADINGS = ("workflow", "published", "latest", "enabled", "changed")


@click.group(
    epilog=examples(
        "onward workflows push order.yaml", "onward workflows ls --server http://onward:8700"
    )
)
def workflows() -> None:
    """Manage workflows and their versions, on a server or in the file."""


workflows.add_command(flow)


@workflows.command(
    name="ls", epilog=examples("onward workflows ls", "onward workflows ls --search order -o ids")
)
@option("--search", metavar="TEXT", default="", help="Only with this text in the id.")
@answer_options
def list_workflows(search: str, engine: EngineAddress) -> int:
    """List workflows by id."""

    def stream(client: AsyncEngine) -> FactsStream:
        return client.pages(dict[str, Any], "/workflows", q=search, limit=200)

    return show_all(engine, stream, id_of="workflow_id", headings=_HEADINGS, row=_row)


@workflows.command(
    epilog=examples(
        "onward workflows show order", "onward workflows show order --version 3 -o json"
    )
)
@workflow_argument
@option("--version", type=click.IntRange(1), help="Print the document of this version.")
@answer_options
def show(workflow_id: str, version: int | None, engine: EngineAddress) -> int:
    """Show a workflow and its versions, or the document of one version."""
    if version is not None:
        return show_answer(
            engine, lambda client: client.definition(workflow_id, version), id_of="id"
        )

    async def work(client: AsyncEngine) -> int:
        from onward.cli.output.tables import print_line, print_table, show_one, time_cell

        workflow = await client.call("GET", f"/workflows/{workflow_id}")
        rows = [
            (str(v.version), "yes" if v.published else "", time_cell(v.created_at), v.note)
            async for v in client.versions(workflow_id)
        ]

        def people() -> None:
            state = "enabled" if workflow["enabled"] else "disabled"
            print_line(f"{workflow_id}  {state}  revision {workflow['revision']}", "")
            print_table(("version", "published", "created", "note"), rows)

        show_one(workflow, engine.form, id_of="workflow_id", people=people)
        return exit_codes.OK

    return ask(engine, work)


@workflows.command(
    epilog=examples(
        'onward workflows push order.yaml --note "a longer timeout"',
        "onward workflows push order.yaml --draft",
    )
)
@file_argument
@option("--note", metavar="TEXT", default="", help="A note about this version.")
@option("--draft", is_flag=True, help="Store the version without publishing it.")
@answer_options
def push(file: Path, note: str, draft: bool, engine: EngineAddress) -> int:
    """Store the document in FILE as a new workflow, or as the next version of the one it names.

    A document that equals the newest version is not stored again.
    """
    text = _text(file)
    return show_answer(
        engine,
        lambda client: client.push(text, note=note, publish=not draft),
        id_of="workflow_id",
        people=_print_workflow,
        need="write",
    )


@workflows.command(
    epilog=examples(
        "onward workflows validate order.yaml",
        "onward workflows validate order.yaml --server http://onward:8700 -o json",
    )
)
@file_argument
@answer_options
def validate(file: Path, engine: EngineAddress) -> int:
    """Check the document in FILE on the engine, with the node types that it has."""
    text = _text(file)

    async def work(client: AsyncEngine) -> int:
        from onward.cli.output.console import print_json, say

        found = await client.validate(text)
        if engine.form != "table":
            print_json(found)
        else:
            for severity, problems in (("error", found.errors), ("warning", found.warnings)):
                for problem in problems:
                    parts = (file, problem.line, problem.column)
                    place = ":".join(str(part) for part in parts if part)
                    say(f"{place}: {severity}: {problem.describe()}")
            if found.valid:
                click.echo(f"{file}: {found.workflow_id} is valid")
        return exit_codes.OK if found.valid else exit_codes.INVALID

    return ask(engine, work, need="write")


@workflows.command(
    epilog=examples("onward workflows publish order", "onward workflows publish order 3")
)
@workflow_argument
@click.argument("version", type=click.IntRange(1), required=False)
@answer_options
def publish(workflow_id: str, version: int | None, engine: EngineAddress) -> int:
    """Publish VERSION, or the newest, for new runs. Existing runs keep their version."""
    return show_answer(
        engine,
        lambda client: client.publish(workflow_id, version),
        id_of="workflow_id",
        people=_print_workflow,
    )


@workflows.command(
    epilog=examples("onward workflows diff order 2 3", "onward workflows diff order 2 3 -o jsonl")
)
@workflow_argument
@click.argument("before", type=click.IntRange(1))
@click.argument("after", type=click.IntRange(1))
@answer_options
def diff(workflow_id: str, before: int, after: int, engine: EngineAddress) -> int:
    """List the differences between the versions BEFORE and AFTER."""

    async def differences(client: AsyncEngine) -> FactsStream:
        import msgspec

        for difference in await client.diff(workflow_id, before, after):
            yield msgspec.to_builtins(difference)

    def row(difference: Mapping[str, Any]) -> list[Cell]:
        import msgspec

        before, after = (
            msgspec.json.encode(difference[side]).decode() for side in ("before", "after")
        )
        return [difference["pointer"], difference["change"], before, after]

    headings = ("place", "change", "before", "after")
    return show_all(engine, differences, id_of="pointer", headings=headings, row=row)


@workflows.command(
    epilog=examples(
        "onward workflows export > workflows.json",
        "onward workflows export --server http://onward:8700 | jq '.workflows[].id'",
    )
)
@engine_options
def export(engine: EngineAddress) -> int:
    """Print all workflows with their published documents, for `import`."""

    async def work(client: AsyncEngine) -> dict[str, Any]:
        return {"format": "onward-workflows-1", "workflows": await client.export_workflows()}

    return show_answer(engine, work, id_of="format")


@workflows.command(
    name="import",
    epilog=examples(
        "onward workflows import workflows.json",
        "onward workflows export | onward workflows import /dev/stdin --server http://onward:8700",
    ),
)
@file_argument
@answer_options
def import_workflows(file: Path, engine: EngineAddress) -> int:
    """Create or publish every workflow in FILE. Nothing changes unless all of them are valid."""
    from onward.cli.input.run_input import read_run_input
    from onward.errors import InputError

    content = read_run_input(f"@{file}", ())
    if not isinstance(content, dict) or not isinstance(content.get("workflows"), list):
        raise InputError(
            f"{file}: this is not an export of workflows: `onward workflows export` makes one"
        )

    async def work(client: AsyncEngine) -> int:
        from onward.cli.output.console import print_json

        done = await client.import_workflows(content["workflows"])
        outcomes = [
            (outcome, name)
            for outcome in ("created", "changed", "unchanged")
            for name in getattr(done, outcome)
        ]
        if engine.form in ("json", "jsonl"):
            print_json(done)
        for outcome, name in outcomes if engine.form in ("table", "ids") else ():
            click.echo(name if engine.form == "ids" else f"{outcome}\t{name}")
        return exit_codes.OK

    return ask(engine, work, need="write")


def _text(file: Path) -> str:
    from onward.cli.input.documents import read_text

    return read_text(file).decode()


def _row(workflow: Mapping[str, Any]) -> list[Cell]:
    from onward.cli.output.tables import time_cell

    published = workflow["published_version"]
    return [
        workflow["workflow_id"],
        "" if published is None else str(published),
        str(workflow["latest_version"]),
        "yes" if workflow["enabled"] else ("no", "yellow"),
        time_cell(workflow["changed_at"]),
    ]


_print_workflow = table_of(_HEADINGS, _row)
_verb = partial(
    verb_command,
    argument=workflow_argument,
    sample="order",
    id_of="workflow_id",
    people=_print_workflow,
)

for _command in (
    _verb(
        "workflows rollback",
        "Publish the version before the published one.",
        call=lambda client, name: client.rollback(name),
    ),
    _verb(
        "workflows enable",
        "Allow new runs of a workflow.",
        call=lambda client, name: client.enable(name),
    ),
    _verb(
        "workflows disable",
        "Refuse new runs of a workflow. Existing runs continue.",
        call=lambda client, name: client.disable(name),
    ),
):
    workflows.add_command(_command)
