"""Credentials that the API keeps, on a server or in the file of `onward dev`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from onward.cli.commands.completion import workflow_ids
from onward.cli.engines import server
from onward.cli.engines.server import one_by_one, output, place, table_of, tell, tell_all
from onward.cli.options import examples, option

if TYPE_CHECKING:
    from onward.client import AsyncEngine

_HEADINGS = ("name", "type", "workflows", "changed", "by")
_name = click.argument("name")


def _place(command: Callable[..., int]) -> Callable[..., int]:
    """Add where the API is, and the key that `onward credentials --key-file` names."""

    @place
    @wraps(command)
    def run(**given: Any) -> int:
        return command(key_file=click.get_current_context().obj.key_file, **given)

    return run


kind = option(
    "--type",
    "kind",
    metavar="TYPE",
    default=None,
    help="Of what the API keeps; `types` lists them.  [default: generic]",
)
workflows = option(
    "--workflow",
    "workflows",
    multiple=True,
    metavar="ID",
    shell_complete=workflow_ids,
    help="Let only this workflow use it; may be repeated.  [default: every one]",
)


def add(
    at: server.ServerAddress,
    name: str,
    fields: Mapping[str, object],
    form: str,
    *,
    kind: str | None,
    workflows: tuple[str, ...],
) -> int:
    """Keep a credential, or replace what is in it."""

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.tables import show_one
        from onward.client import MissingError

        texts = {key: _text(value) for key, value in fields.items()}
        some = list(workflows) or None
        try:
            known = await engine.credential(name)
        except MissingError:
            made = await engine.add_credential(name, kind or "generic", texts, workflows=some)
        else:
            if kind not in (None, known["type"]):
                raise click.UsageError(f"{name} is of type {known['type']}: remove it first")
            made = await engine.change_credential(
                name, fields=texts, workflows=some or known["workflows"]
            )
        show_one(made, form, id_of="name", people=lambda: _shown(made))
        return 0

    return server.talk(at, ask, need="write")


def ls(at: server.ServerAddress, form: str) -> int:
    """List credentials by name."""

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.tables import show_list

        found = engine.credentials()
        await show_list(found, form, id_of="name", headings=_HEADINGS, row=_row)
        return 0

    return server.talk(at, ask)


def rm(at: server.ServerAddress, name: str) -> int:
    """Forget a credential."""

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.run_result import say

        await engine.remove_credential(name)
        say(f"removed {name}")
        return 0

    return server.talk(at, ask)


def rotate(at: server.ServerAddress) -> int:
    """Seal every credential with the newest key."""

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.run_result import say

        say(f"sealed {await engine.rotate_credentials()} credentials anew")
        return 0

    return server.talk(at, ask)


@click.command(
    epilog=examples(
        "onward credentials types", "onward credentials types -o json | jq '.[].fields'"
    )
)
@output
@_place
def types(output: str, **given: Any) -> int:
    """List the types of credentials that the API keeps, and the fields of each."""

    def row(one: Mapping[str, Any]) -> list[str]:
        fields = [each["name"] + ("" if each["required"] else "?") for each in one["fields"]]
        return [one["type"], one["title"], " ".join(fields) or "any", one["trial"]]

    return tell_all(
        given,
        output,
        lambda engine: one_by_one(engine.credential_types()),
        id_of="type",
        headings=("type", "title", "fields", "tried by"),
        row=row,
    )


@click.command(
    epilog=examples("onward credentials show payments", "onward credentials show payments -o json")
)
@_name
@output
@_place
def show(name: str, output: str, **given: Any) -> int:
    """Show what is known of a credential that the API keeps; never what is in it."""
    return tell(given, output, lambda engine: engine.credential(name), id_of="name", people=_shown)


@click.command(
    epilog=examples(
        "onward credentials allow payments charge refund", "onward credentials allow payments --all"
    )
)
@_name
@click.argument("some", metavar="[WORKFLOW]...", nargs=-1, shell_complete=workflow_ids)
@option("--all", "every", is_flag=True, help="Let every workflow use it.")
@output
@_place
def allow(name: str, some: tuple[str, ...], every: bool, output: str, **given: Any) -> int:
    """Let only these workflows use a credential that the API keeps; it stays as it is."""
    if every == bool(some):
        raise click.UsageError("name the workflows, or give --all")
    chosen = None if every else list(some)
    return tell(
        given,
        output,
        lambda engine: engine.change_credential(name, workflows=chosen),
        id_of="name",
        people=_shown,
    )


@click.command(
    epilog=examples("onward credentials usage payments", "onward credentials usage payments -o ids")
)
@_name
@output
@_place
def usage(name: str, output: str, **given: Any) -> int:
    """List the workflows that name a credential, and whether they may use it."""

    def row(one: Mapping[str, Any]) -> list[Any]:
        published = "yes" if one["published"] else ""
        allowed = "yes" if one["allowed"] else ("no", "red")
        return [one["workflow_id"], str(one["version"]), published, allowed]

    return tell_all(
        given,
        output,
        lambda engine: one_by_one(engine.credential_usage(name)),
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
@option("--url", metavar="URL", default=None, help="Of HTTP: something that only it opens.")
@output
@_place
def try_out(name: str, url: str | None, output: str, **given: Any) -> int:
    """Use a credential that the API keeps once: a GET of --url, or a greeting of the mail server.

    The exit code is 1 when it does not open what it should.
    """

    async def ask(engine: AsyncEngine) -> int:
        from onward.cli.output.tables import show_one

        came = await engine.test_credential(name, url)
        facts = {"name": name, **came}
        word = "ok" if came["ok"] else "refused"
        said = f"{word}: {came['detail']}"
        show_one(facts, output, id_of="name", people=lambda: click.echo(said))
        return 0 if came["ok"] else server.FAILED

    return server.talk(server.where(given), ask)


def _text(value: object) -> str:
    import msgspec

    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _row(one: Mapping[str, Any]) -> list[str]:
    from onward.cli.output.tables import moment

    some = one["workflows"]
    allowed = "all" if some is None else ", ".join(some) or "none"
    return [one["name"], one["type"], allowed, moment(one["changed_at"]), one["changed_by"]]


_shown = table_of(_HEADINGS, _row)
