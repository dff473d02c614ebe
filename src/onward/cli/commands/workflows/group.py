"""`onward workflows`: documents that are kept, their versions, and which of them new runs use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onward.cli.commands.completion import workflow_ids
from onward.cli.commands.workflows.start_rules import flow
from onward.cli.engines import server
from onward.cli.engines.server import output, place, table_of, tell, tell_all
from onward.cli.options import examples, option, path

if TYPE_CHECKING:
    from onward.cli.output.tables import Cell
    from onward.client import AsyncEngine

_HEADINGS = ("workflow", "published", "latest", "enabled", "changed")

_name = click.argument("workflow_id", metavar="WORKFLOW", shell_complete=workflow_ids)
_file = click.argument("file", type=path())


@click.group(
    epilog=examples(
        "onward workflows push order.yaml", "onward workflows ls --server http://onward:8700"
    )
)
def workflows() -> None:
    """Keep workflows and their versions, on a server or in the file."""


workflows.add_command(flow)


@workflows.command(
    name="ls", epilog=examples("onward workflows ls", "onward workflows ls --search order -o ids")
)
@option("--search", metavar="TEXT", default="", help="Only those with this in their id.")
@output
@place
def list_all(search: str, output: str, **given: Any) -> int:
    """List workflows by id."""

    def found(engine: AsyncEngine) -> server.Found:
        return engine.pages(dict[str, Any], "/workflows", q=search, limit=200)

    return tell_all(given, output, found, id_of="workflow_id", headings=_HEADINGS, row=_row)


@workflows.command(
    epilog=examples(
        "onward workflows show order", "onward workflows show order --version 3 -o json"
    )
)
@_name
@option("--version", type=click.IntRange(1), help="The document of this version.")
@output
@place
def show(workflow_id: str, version: int | None, output: str, **given: Any) -> int:
    """Show a workflow and its versions, or with --version the document of one."""

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.tables import moment, print_line, print_table, show_one

        if version is not None:
            document = await engine.definition(workflow_id, version)
            show_one(document, output, id_of="id")
            return 0
        one = await engine.call("GET", f"/workflows/{workflow_id}")
        listed = [v async for v in engine.versions(workflow_id)]

        def people() -> None:
            state = "enabled" if one["enabled"] else "disabled"
            print_line(f"{workflow_id}  {state}  revision {one['revision']}", "")
            print_table(
                ("version", "published", "created", "note"),
                [
                    (str(v.version), "yes" if v.published else "", moment(v.created_at), v.note)
                    for v in listed
                ],
            )

        show_one(one, output, id_of="workflow_id", people=people)
        return 0

    return server.talk(server.where(given), ask)


@workflows.command(
    epilog=examples(
        'onward workflows push order.yaml --note "a longer time-out"',
        "onward workflows push order.yaml --draft",
    )
)
@_file
@option("--note", metavar="TEXT", default="", help="Why this version.")
@option("--draft", is_flag=True, help="Keep the version, but let new runs not use it yet.")
@output
@place
def push(file: Path, note: str, draft: bool, output: str, **given: Any) -> int:
    """Keep the document in FILE: a new workflow, or the next version of the one it names.

    A document that equals the newest version is not kept twice.
    """
    text = _text(file)
    return _tell(
        given,
        output,
        lambda engine: engine.push(text, note=note, publish=not draft),
        need="write",
    )


@workflows.command(
    epilog=examples(
        "onward workflows validate order.yaml",
        "onward workflows validate order.yaml --server http://onward:8700 -o json",
    )
)
@_file
@output
@place
def validate(file: Path, output: str, **given: Any) -> int:
    """Let the engine check the document in FILE: with its node types, and in its version."""
    text = _text(file)

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.run_result import print_json, say

        found = await engine.validate(text)
        if output != "table":
            print_json(found)
        for kind, some in (("error", found.errors), ("warning", found.warnings)):
            for one in some if output == "table" else ():
                at = ":".join(str(part) for part in (file, one.line, one.column) if part)
                say(f"{at}: {kind}: {one.describe()}")
        if output == "table" and found.valid:
            click.echo(f"{file}: {found.workflow_id} is valid")
        return 0 if found.valid else server.INVALID

    return server.talk(server.where(given), ask, need="write")


@workflows.command(
    epilog=examples("onward workflows publish order", "onward workflows publish order 3")
)
@_name
@click.argument("version", type=click.IntRange(1), required=False)
@output
@place
def publish(workflow_id: str, version: int | None, output: str, **given: Any) -> int:
    """Let new runs use VERSION, or the newest. Runs that go on keep theirs."""
    return _tell(given, output, lambda engine: engine.publish(workflow_id, version))


@workflows.command(
    epilog=examples("onward workflows rollback order", "onward workflows rollback order -o json")
)
@_name
@output
@place
def rollback(workflow_id: str, output: str, **given: Any) -> int:
    """Let new runs use the version before the published one."""
    return _tell(given, output, lambda engine: engine.rollback(workflow_id))


@workflows.command(
    epilog=examples("onward workflows enable order", "onward workflows enable order -o json")
)
@_name
@output
@place
def enable(workflow_id: str, output: str, **given: Any) -> int:
    """Allow new runs."""
    return _tell(given, output, lambda engine: engine.enable(workflow_id))


@workflows.command(
    epilog=examples("onward workflows disable order", "onward workflows disable order -o json")
)
@_name
@output
@place
def disable(workflow_id: str, output: str, **given: Any) -> int:
    """Allow no new runs; those that go on are not concerned."""
    return _tell(given, output, lambda engine: engine.disable(workflow_id))


@workflows.command(
    epilog=examples("onward workflows diff order 2 3", "onward workflows diff order 2 3 -o jsonl")
)
@_name
@click.argument("before", type=click.IntRange(1))
@click.argument("after", type=click.IntRange(1))
@output
@place
def diff(workflow_id: str, before: int, after: int, output: str, **given: Any) -> int:
    """List every place at which versions BEFORE and AFTER differ."""

    async def ask(engine: AsyncEngine) -> int:
        import msgspec

        from onward.cli.output.run_result import print_json
        from onward.cli.output.tables import print_table

        found = await engine.diff(workflow_id, before, after)
        match output:
            case "json":
                print_json(found)
            case "jsonl":
                for one in found:
                    print_json(one)
            case "ids":
                click.echo("\n".join(one.pointer for one in found))
            case _:
                text = msgspec.json.encode
                rows = [
                    (one.pointer, one.change, text(one.before).decode(), text(one.after).decode())
                    for one in found
                ]
                print_table(("place", "change", "before", "after"), rows)
        return 0

    return server.talk(server.where(given), ask)


@workflows.command(
    epilog=examples(
        "onward workflows export > workflows.json",
        "onward workflows export --server http://onward:8700 | jq '.workflows[].id'",
    )
)
@place
def export(**given: Any) -> int:
    """Print every workflow with its published document, as `import` takes it."""

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.run_result import print_pretty

        found = await engine.export_workflows()
        print_pretty({"format": "onward-workflows-1", "workflows": found})
        return 0

    return server.talk(server.where(given), ask)


@workflows.command(
    name="import",
    epilog=examples(
        "onward workflows import workflows.json",
        "onward workflows export | onward workflows import /dev/stdin --server http://onward:8700",
    ),
)
@_file
@output
@place
def import_all(file: Path, output: str, **given: Any) -> int:
    """Create or publish every workflow in FILE; nothing is changed unless each one can run."""
    from onward.cli.input.run_input import read_run_input
    from onward.errors import InputError

    whole = read_run_input(f"@{file}", ())
    if not isinstance(whole, dict) or not isinstance(whole.get("workflows"), list):
        raise InputError(
            f"{file}: this is no export of workflows: `onward workflows export` makes one"
        )

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.run_result import print_json

        done = await engine.import_workflows(whole["workflows"])
        if output == "table":
            for word in ("created", "changed", "unchanged"):
                for name in getattr(done, word):
                    click.echo(f"{word}\t{name}")
        elif output == "ids":
            click.echo("\n".join((*done.created, *done.changed, *done.unchanged)))
        else:
            print_json(done)
        return 0

    return server.talk(server.where(given), ask, need="write")


def _text(file: Path) -> str:
    from onward.cli.input.documents import read_text

    return read_text(file).decode()


def _row(one: Mapping[str, Any]) -> list[Cell]:
    from onward.cli.output.tables import moment

    published = one["published_version"]
    return [
        one["workflow_id"],
        "" if published is None else str(published),
        str(one["latest_version"]),
        "yes" if one["enabled"] else ("no", "yellow"),
        moment(one["changed_at"]),
    ]


_shown = table_of(_HEADINGS, _row)
_tell = partial(tell, id_of="workflow_id", people=_shown)
