"""`weft tokens`: what programs show to the API. A token is printed once, when it is made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.durations import span
from weft.cli.office import at_office, place, whoami
from weft.cli.options import as_json, examples, option

if TYPE_CHECKING:
    from weft.bootstrap.access import Office
    from weft.ports.access import ApiToken, Role

_MOST = 1_000


@click.group(epilog=examples("weft tokens create ci --role editor", "weft tokens ls"))
def tokens() -> None:
    """Make and revoke what programs show to the API."""


@tokens.command(
    epilog=examples(
        "weft tokens create ci --role editor --expires 90d",
        "weft tokens create shop --role editor --workflow import-orders",
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
    name: str,
    role: Role,
    workflows: tuple[str, ...],
    lasts_ms: int | None,
    database: Path,
    postgres: str | None,
) -> int:
    """Make a token called NAME and print it. It cannot be shown again."""
    if not re.fullmatch(r"[^\x00-\x1f\x7f]{1,100}", name):
        raise click.UsageError("the name must have 1 to 100 characters, on one line")
    for one in workflows:
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", one):
            raise click.UsageError(f"--workflow: {one!r} is no id of a workflow")

    async def work(office: Office) -> tuple[ApiToken, str]:
        return await office.administration.add_token(
            name,
            role,
            by=whoami(),
            workflows=tuple(sorted(set(workflows))) or None,
            lasts_ms=lasts_ms,
        )

    token, secret = at_office(work, database, postgres, "create_token")
    click.echo(f"made {token.token_id}; keep it now, it cannot be shown again:", err=True)
    click.echo(secret)
    return 0


@tokens.command(epilog=examples("weft tokens ls", "weft tokens ls --json"))
@as_json
@place
def ls(as_json: bool, database: Path, postgres: str | None) -> int:
    """List tokens, newest first; what they are is not kept."""
    from weft.bootstrap import now_ms
    from weft.cli.answers import print_json
    from weft.cli.tables import print_table
    from weft.runtime.access import counts

    async def work(office: Office) -> list[ApiToken]:
        return await office.accounts.tokens(before="~", limit=_MOST)

    found = at_office(work, database, postgres)
    if as_json:
        print_json([{**_told(one), "counts": counts(one, now_ms())} for one in found])
        return 0
    rows = [
        (
            one.token_id,
            one.name,
            one.role,
            ", ".join(one.workflows) if one.workflows is not None else "all",
            "yes" if counts(one, now_ms()) else "no",
            _iso(one.expires_ms),
            _iso(one.used_ms),
        )
        for one in found
    ]
    print_table(("id", "name", "role", "workflows", "counts", "expires", "used"), rows)
    return 0


@tokens.command(
    epilog=examples(
        "weft tokens revoke tok_01kk2v6r8y7r5f7q0w2t9x4z3b",
        "weft tokens revoke tok_01kk2v6r8y7r5f7q0w2t9x4z3b --db /srv/weft.db",
    )
)
@click.argument("token_id")
@place
def revoke(token_id: str, database: Path, postgres: str | None) -> int:
    """Let a token count no more, at once and for ever."""

    async def work(office: Office) -> ApiToken:
        return await office.administration.revoke_token(token_id)

    at_office(work, database, postgres, "revoke_token")
    click.echo(f"revoked {token_id}", err=True)
    return 0


def _told(token: ApiToken) -> dict[str, Any]:
    return {
        "token_id": token.token_id,
        "name": token.name,
        "role": token.role,
        "workflows": token.workflows,
        "created_by": token.created_by,
        "expires_at": _iso(token.expires_ms) or None,
        "revoked_at": _iso(token.revoked_ms) or None,
        "used_at": _iso(token.used_ms) or None,
    }


def _iso(at_ms: int | None) -> str:
    from weft.kernel.moment import to_iso

    return "" if at_ms is None else to_iso(at_ms)
