"""Credentials of an engine, on a server or in the file of `onward dev`.

They have types, can be tested, and may be restricted to some workflows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes
from onward.cli.commands.completion import workflow_ids
from onward.cli.engines.engine import (
    EngineAddress,
    answer_options,
    ask,
    confirm,
    show_all,
    stream_of,
    table_of,
)
from onward.cli.engines.engine import show as show_answer
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.client import AsyncEngine

_HEADINGS = ("name", "type", "workflows", "changed", "by")
_name = click.argument("name")


def _answer_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of an engine, and the key that `onward credentials --key-file` names."""

    @answer_options
    @wraps(command)
    def run(*, engine: EngineAddress, **given: Any) -> int:
        key_file = click.get_current_context().obj.key_file
        return command(engine=replace(engine, key_file=key_file), **given)

    return run


kind_option = option(
    "--type",
    "kind",
    metavar="TYPE",
    default=None,
    help="The type, on an engine; `types` lists them.  [default: generic]",
)
workflows_option = option(
    "--workflow",
    "workflows",
    multiple=True,
    metavar="WORKFLOW",
    shell_complete=workflow_ids,
    help="Restrict it to this workflow, on an engine; may be repeated.  [default: all]",
)


def add(
    engine: EngineAddress,
    name: str,
    fields: Mapping[str, object],
    *,
    kind: str | None,
    workflows: tuple[str, ...],
) -> int:
    """Add a credential, or replace its fields."""

    async def work(client: AsyncEngine) -> dict[str, Any]:
        from onward.client import MissingError

        texts = {key: _text(value) for key, value in fields.items()}
        allowed = list(workflows) or None
        try:
            known = await client.credential(name)
        except MissingError:
            return await client.add_credential(name, kind or "generic", texts, workflows=allowed)
        if kind not in (None, known["type"]):
            raise click.UsageError(f"{name} is of type {known['type']}: remove it first")
        return await client.change_credential(
            name, fields=texts, workflows=allowed or known["workflows"]
        )

    return show_answer(engine, work, id_of="name", people=_print_credential, need="write")


def ls(
    engine: EngineAddress,
) -> int:
    """List credentials by name."""
    return show_all(
        engine,
        lambda client: client.credentials(),
        id_of="name",
        headings=_HEADINGS,
        row=_row,
    )


def rm(engine: EngineAddress, name: str) -> int:
    """Remove a credential."""
    return confirm(engine, f"removed {name}", lambda client: client.remove_credential(name))


def rotate(engine: EngineAddress) -> int:
    """Encrypt every credential with the newest key."""

    async def work(client: AsyncEngine) -> int:
        from onward.cli.output.console import say

        say(f"re-encrypted {await client.rotate_credentials()} credentials")
        return exit_codes.OK

    return ask(engine, work)


@click.command(
    epilog=examples(
        "onward credentials types", "onward credentials types -o json | jq '.[].fields'"
    )
)
@_answer_options
def types(engine: EngineAddress) -> int:
    """List the types of credentials on an engine, and the fields of each."""

    def row(kind: Mapping[str, Any]) -> list[str]:
        fields = [field["name"] + ("" if field["required"] else "?") for field in kind["fields"]]
        return [kind["type"], kind["title"], " ".join(fields) or "any", kind["trial"]]

    return show_all(
        engine,
        lambda client: stream_of(client.credential_types()),
        id_of="type",
        headings=("type", "title", "fields", "tested by"),
        row=row,
    )


@click.command(
    epilog=examples("onward credentials show payments", "onward credentials show payments -o json")
)
@_name
@_answer_options
def show(name: str, engine: EngineAddress) -> int:
    """Show the type and the workflows of a credential on an engine, never its values."""
    return show_answer(
        engine, lambda client: client.credential(name), id_of="name", people=_print_credential
    )


@click.command(
    epilog=examples(
        "onward credentials allow payments charge refund", "onward credentials allow payments --all"
    )
)
@_name
@click.argument("allowed", metavar="[WORKFLOW]...", nargs=-1, shell_complete=workflow_ids)
@option("--all", "every", is_flag=True, help="Allow every workflow.")
@_answer_options
def allow(name: str, allowed: tuple[str, ...], every: bool, engine: EngineAddress) -> int:
    """Allow only these workflows to use a credential on an engine."""
    if every == bool(allowed):
        raise click.UsageError("name the workflows, or give --all")
    chosen = None if every else list(allowed)
    return show_answer(
        engine,
        lambda client: client.change_credential(name, workflows=chosen),
        id_of="name",
        people=_print_credential,
    )


@click.command(
    epilog=examples("onward credentials usage payments", "onward credentials usage payments -o ids")
)
@_name
@_answer_options
def usage(name: str, engine: EngineAddress) -> int:
    """List the workflows that name a credential, and whether they may use it."""

    def row(workflow: Mapping[str, Any]) -> list[Any]:
        published = "yes" if workflow["published"] else ""
        allowed = "yes" if workflow["allowed"] else ("no", "red")
        return [workflow["workflow_id"], str(workflow["version"]), published, allowed]

    return show_all(
        engine,
        lambda client: stream_of(client.credential_usage(name)),
        id_of="workflow_id",
        headings=("workflow", "version", "published", "allowed"),
        row=row,
    )


@click.command(
    name="test",
    epilog=examples(
        "onward credentials test payments --url https://api.example.com/me",
        "onward credentials test mail --server http://onward:8700",
    ),
)
@_name
@option("--url", metavar="URL", default=None, help="For HTTP: a page that requires it.")
@_answer_options
def try_credential(name: str, url: str | None, engine: EngineAddress) -> int:
    """Test a credential on an engine: by a GET of --url, or by a login to the mail server.

    The exit code is 1 when it is refused.
    """

    async def work(client: AsyncEngine) -> int:
        from onward.cli.output.tables import show_one

        trial = await client.test_credential(name, url)
        line = f"{'ok' if trial['ok'] else 'refused'}: {trial['detail']}"
        facts = {"name": name, **trial}
        show_one(facts, engine.form, id_of="name", people=lambda: click.echo(line))
        return exit_codes.OK if trial["ok"] else exit_codes.FAILED

    return ask(engine, work)


def _text(value: object) -> str:
    import msgspec

    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _row(credential: Mapping[str, Any]) -> list[str]:
    from onward.cli.output.tables import time_cell

    workflows = credential["workflows"]
    return [
        credential["name"],
        credential["type"],
        "all" if workflows is None else ", ".join(workflows) or "none",
        time_cell(credential["changed_at"]),
        credential["changed_by"],
    ]


_print_credential = table_of(_HEADINGS, _row)
