"""`onward tokens`: what programs show to the API. A token is printed once, when it is made."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from onward.cli.engines.accounts import at_office, place, whoami
from onward.cli.engines.server import output
from onward.cli.options import as_json, examples, option
from onward.cli.output.durations import span

if TYPE_CHECKING:
    from onward.bootstrap.accounts import AccountTools
    from onward.client import AsyncEngine
    from onward.ports.security.accounts import ApiToken, Role

_MOST = 1_000
_HEADINGS = ("id", "name", "role", "workflows", "counts", "expires", "used")


@click.group(epilog=examples("onward tokens create ci --role editor", "onward tokens ls"))
def tokens() -> None:
    """Make and revoke what programs show to the API."""


@tokens.command(
    epilog=examples(
        "onward tokens create ci --role editor --expires 90d",
        "onward tokens create shop --role editor --workflow import-orders",
    )
)
@click.argument("name")
@option(
    "--role",
    type=click.Choice(["viewer", "editor", "admin"]),
    default="viewer",
    show_default=True,
    help="What it may do: look, change and run, or everything.",
)
@option(
    "--workflow",
    "workflows",
    multiple=True,
    metavar="ID",
    help="Let it touch only this workflow; may be repeated.",
)
@option(
    "--expires",
    "lasts_ms",
    callback=span,
    metavar="SPAN",
    help="For how long it counts, such as 90d.  [default: for ever]",
)
@place
def create(
    name: str, role: Role, workflows: tuple[str, ...], lasts_ms: int | None, **given: Any
) -> int:
    """Make a token called NAME and print it. It cannot be shown again."""
    if not re.fullmatch(r"[^\x00-\x1f\x7f]{1,100}", name):
        raise click.UsageError("the name must have 1 to 100 characters, on one line")
    for workflow in workflows:
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", workflow):
            raise click.UsageError(f"--workflow: {workflow!r} is no id of a workflow")
    chosen = tuple(sorted(set(workflows))) or None

    async def asked(engine: AsyncEngine) -> tuple[str, str]:
        lasts_s = None if lasts_ms is None else lasts_ms // 1000
        made = await engine.create_token(name, role, workflows=chosen, expires_in_s=lasts_s)
        return made["token_id"], made["token"]

    async def work(office: AccountTools) -> tuple[str, str]:
        token, secret = await office.administration.add_token(
            name, role, by=whoami(), workflows=chosen, lasts_ms=lasts_ms
        )
        return token.token_id, secret

    token_id, secret = at_office(given, asked=asked, work=work, action="create_token")
    click.echo(f"made {token_id}; keep it now, it cannot be shown again:", err=True)
    click.echo(secret)
    return 0


@tokens.command(
    epilog=examples("onward tokens ls", "onward tokens ls --server http://onward:8700 -o ids")
)
@as_json
@output
@place
def ls(as_json: bool, output: str, **given: Any) -> int:
    """List tokens, newest first; what they are is not kept."""
    from onward.cli.output.tables import show_known

    async def asked(engine: AsyncEngine) -> list[dict[str, Any]]:
        return [token async for token in engine.tokens()]

    async def work(office: AccountTools) -> list[dict[str, Any]]:
        return [_told(token) for token in await office.accounts.tokens(before="~", limit=_MOST)]

    found = at_office(given, asked=asked, work=work)
    form = "json" if as_json else output
    show_known(found, form, id_of="token_id", headings=_HEADINGS, row=_row)
    return 0


@tokens.command(
    epilog=examples(
        "onward tokens show tok_01kk2v6r8y7r5f7q0w2t9x4z3b",
        "onward tokens show tok_01kk2v6r8y7r5f7q0w2t9x4z3b -o json",
    )
)
@click.argument("token_id")
@output
@place
def show(token_id: str, output: str, **given: Any) -> int:
    """Show what is known of a token."""
    from onward.cli.output.tables import print_table, show_one

    async def asked(engine: AsyncEngine) -> dict[str, Any]:
        return await engine.token(token_id)

    async def work(office: AccountTools) -> dict[str, Any]:
        return _told(await office.administration.token(token_id))

    found = at_office(given, asked=asked, work=work)
    show_one(found, output, id_of="token_id", people=lambda: print_table(_HEADINGS, [_row(found)]))
    return 0


@tokens.command(
    epilog=examples(
        "onward tokens revoke tok_01kk2v6r8y7r5f7q0w2t9x4z3b",
        "onward tokens revoke tok_01kk2v6r8y7r5f7q0w2t9x4z3b --db /srv/onward.db",
    )
)
@click.argument("token_id")
@place
def revoke(token_id: str, **given: Any) -> int:
    """Let a token count no more, at once and for ever."""

    async def asked(engine: AsyncEngine) -> object:
        return await engine.revoke_token(token_id)

    async def work(office: AccountTools) -> object:
        return await office.administration.revoke_token(token_id)

    at_office(given, asked=asked, work=work, action="revoke_token")
    click.echo(f"revoked {token_id}", err=True)
    return 0


def _told(token: ApiToken) -> dict[str, Any]:
    from onward.bootstrap.host import now_ms
    from onward.runtime.security.accounts import counts

    return {
        "token_id": token.token_id,
        "name": token.name,
        "role": token.role,
        "workflows": token.workflows,
        "created_by": token.created_by,
        "expires_at": _iso(token.expires_ms) or None,
        "revoked_at": _iso(token.revoked_ms) or None,
        "used_at": _iso(token.used_ms) or None,
        "counts": counts(token, now_ms()),
    }


def _row(one: Mapping[str, Any]) -> list[str]:
    return [
        one["token_id"],
        one["name"],
        one["role"],
        ", ".join(one["workflows"]) if one["workflows"] is not None else "all",
        "yes" if one["counts"] else "no",
        one["expires_at"] or "",
        one["used_at"] or "",
    ]


def _iso(at_ms: int | None) -> str:
    from onward.kernel.timestamps import to_iso

    return "" if at_ms is None else to_iso(at_ms)
