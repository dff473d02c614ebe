"""`onward tokens`: API tokens, for programs. A token is printed once, when it is created."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes
from onward.cli.commands.users import ROLE_HELP, ROLES
from onward.cli.engines.accounts import AccountsAddress, account_options, with_accounts
from onward.cli.engines.engine import output
from onward.cli.options import as_json, examples, option
from onward.cli.output.durations import span

if TYPE_CHECKING:
    from onward.cli.engines.accounts import Accounts, Facts
    from onward.ports.security.accounts import Role

_HEADINGS = ("id", "name", "role", "workflows", "valid", "expires", "used")
_SAMPLE = "tok_01kk2v6r8y7r5f7q0w2t9x4z3b"


@click.group(epilog=examples("onward tokens create ci --role editor", "onward tokens ls"))
def tokens() -> None:
    """Create and revoke API tokens for programs."""


@tokens.command(
    epilog=examples(
        "onward tokens create ci --role editor --expires 90d",
        "onward tokens create shop --role editor --workflow import-orders",
    )
)
@click.argument("name")
@option("--role", type=click.Choice(ROLES), default="viewer", show_default=True, help=ROLE_HELP)
@option(
    "--workflow",
    "workflows",
    multiple=True,
    metavar="WORKFLOW",
    help="Restrict the token to this workflow; may be repeated.  [default: all]",
)
@option(
    "--expires",
    "lasts_ms",
    callback=span,
    metavar="SPAN",
    help="How long it is valid, such as 90d.  [default: forever]",
)
@account_options
def create(
    name: str,
    role: Role,
    workflows: tuple[str, ...],
    lasts_ms: int | None,
    place: AccountsAddress,
) -> int:
    """Create a token called NAME and print it. It cannot be shown again."""
    if not re.fullmatch(r"[^\x00-\x1f\x7f]{1,100}", name):
        raise click.UsageError("the name must have 1 to 100 characters, on one line")
    for workflow in workflows:
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", workflow):
            raise click.UsageError(f"--workflow: {workflow!r} is not the id of a workflow")
    chosen = tuple(sorted(set(workflows))) or None
    lasts_s = None if lasts_ms is None else lasts_ms // 1000
    token = with_accounts(
        place,
        lambda accounts: accounts.create_token(name, role, workflows=chosen, expires_in_s=lasts_s),
        action="create_token",
    )
    click.echo(f"created {token['token_id']}; save it now, it cannot be shown again:", err=True)
    click.echo(token["token"])
    return exit_codes.OK


@tokens.command(
    epilog=examples("onward tokens ls", "onward tokens ls --server http://onward:8700 -o ids")
)
@as_json
@output
@account_options
def ls(as_json: bool, form: str, place: AccountsAddress) -> int:
    """List tokens, newest first. The tokens themselves are not stored."""
    from onward.cli.output.tables import show_known

    async def work(accounts: Accounts) -> list[Facts]:
        return [token async for token in accounts.tokens()]

    found = with_accounts(place, work)
    form = "json" if as_json else form
    show_known(found, form, id_of="token_id", headings=_HEADINGS, row=_row)
    return exit_codes.OK


@tokens.command(
    epilog=examples(f"onward tokens show {_SAMPLE}", f"onward tokens show {_SAMPLE} -o json")
)
@click.argument("token_id", metavar="TOKEN_ID")
@output
@account_options
def show(token_id: str, form: str, place: AccountsAddress) -> int:
    """Show the name, the rights and the use of a token."""
    from onward.cli.output.tables import print_table, show_one

    token = with_accounts(place, lambda accounts: accounts.token(token_id))
    show_one(token, form, id_of="token_id", people=lambda: print_table(_HEADINGS, [_row(token)]))
    return exit_codes.OK


@tokens.command(
    epilog=examples(
        f"onward tokens revoke {_SAMPLE}", f"onward tokens revoke {_SAMPLE} --db /srv/onward.db"
    )
)
@click.argument("token_id", metavar="TOKEN_ID")
@account_options
def revoke(token_id: str, place: AccountsAddress) -> int:
    """Revoke a token, at once and for good."""
    with_accounts(place, lambda accounts: accounts.revoke_token(token_id), action="revoke_token")
    click.echo(f"revoked {token_id}", err=True)
    return exit_codes.OK


def _row(token: Mapping[str, Any]) -> list[str]:
    return [
        token["token_id"],
        token["name"],
        token["role"],
        ", ".join(token["workflows"]) if token["workflows"] is not None else "all",
        "yes" if token["counts"] else "no",
        token["expires_at"] or "",
        token["used_at"] or "",
    ]
