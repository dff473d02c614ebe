"""Where `onward users` and `onward tokens` work: on a server, in a file, or in PostgreSQL."""

from __future__ import annotations

import getpass
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from onward.cli.engines.engine import EngineAddress, ask, engine_options
from onward.cli.options import option

if TYPE_CHECKING:
    from onward.bootstrap.accounts import AccountTools
    from onward.client import AsyncEngine
    from onward.ports.security.accounts import ApiToken, User

T = TypeVar("T")
Accounts: TypeAlias = "AsyncEngine | _StoredAccounts"
"""Both have the same calls about users and tokens."""
Facts = dict[str, Any]
LISTED_TOKENS = 1_000
_postgres = option(
    "--postgres",
    metavar="URL",
    envvar="ONWARD_POSTGRES_URL",
    default=None,
    help="The PostgreSQL of a cluster, used instead of the file.",
)


@dataclass(frozen=True, slots=True)
class AccountsAddress:
    """Where users and tokens are stored."""

    engine: EngineAddress
    postgres: str | None


def account_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options that say where users and tokens are stored: the command gets `place`."""

    @engine_options
    @wraps(command)
    def run(*, engine: EngineAddress, postgres: str | None, **given: Any) -> int:
        return command(place=AccountsAddress(engine, postgres), **given)

    return _postgres(run)


def with_accounts(
    place: AccountsAddress, work: Callable[[Accounts], Awaitable[T]], *, action: str = ""
) -> T:
    """Return the result of the work.

    A server writes its own audit log; here it is written when the work is an `action`. A refusal by
    a server is printed and ends the command.
    """
    if place.engine.server:
        return _ask_server(place.engine, work)
    import asyncio

    from onward.bootstrap.accounts import open_accounts_in_file, open_accounts_on_postgres
    from onward.bootstrap.host import configure_log
    from onward.runtime.security.audit import open_record

    configure_log(level="warning")

    async def answer() -> T:
        opening = (
            open_accounts_on_postgres(place.postgres)
            if place.postgres
            else open_accounts_in_file(place.engine.database)
        )
        async with opening as tools:
            record = open_record()
            record.action = action
            result = await work(_StoredAccounts(tools))
            if action:
                await tools.auditor.write(record, actor=local_user(), origin="", request_id="")
            return result

    return asyncio.run(answer())


def _ask_server(engine: EngineAddress, work: Callable[[Accounts], Awaitable[T]]) -> T:
    results: list[T] = []

    async def answer(client: AsyncEngine) -> int:
        results.append(await work(client))
        return 0

    code = ask(engine, answer)
    if code:
        raise click.exceptions.Exit(code)
    return results[0]


def local_user() -> str:
    """Return the user of the command line, as the audit log names them."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):  # a container may run as a user without a name
        return "cli"


class _StoredAccounts:
    """The calls of an engine's client about users and tokens, on the tables themselves."""

    def __init__(self, tools: AccountTools) -> None:
        self._tools = tools
        self._administration = tools.administration

    async def users(self) -> list[Facts]:
        return [_user_facts(user) for user in await self._tools.accounts.users()]

    async def user(self, name: str) -> Facts:
        return _user_facts(await self._administration.user(name))

    async def add_user(self, name: str, role: Any, password: str) -> Facts:
        return _user_facts(await self._administration.add_user(name, role, password))

    async def change_user(self, name: str, **changes: Any) -> Facts:
        return _user_facts(await self._administration.change_user(name, **changes))

    async def remove_user(self, name: str) -> None:
        await self._administration.remove_user(name)

    async def tokens(self) -> AsyncIterator[Facts]:
        for token in await self._tools.accounts.tokens(before="~", limit=LISTED_TOKENS):
            yield _token_facts(token)

    async def token(self, token_id: str) -> Facts:
        return _token_facts(await self._administration.token(token_id))

    async def create_token(
        self, name: str, role: Any, *, workflows: Any, expires_in_s: int | None
    ) -> Facts:
        """Create a token, and return it with its secret: it is shown this once."""
        lasts_ms = None if expires_in_s is None else 1000 * expires_in_s
        token, secret = await self._administration.add_token(
            name, role, by=local_user(), workflows=workflows, lasts_ms=lasts_ms
        )
        return {**_token_facts(token), "token": secret}

    async def revoke_token(self, token_id: str) -> Facts:
        return _token_facts(await self._administration.revoke_token(token_id))


def _user_facts(user: User) -> Facts:
    return {
        "name": user.name,
        "role": user.role,
        "enabled": user.enabled,
        "created_at": _iso(user.created_ms),
        "changed_at": _iso(user.changed_ms),
    }


def _token_facts(token: ApiToken) -> Facts:
    from onward.bootstrap.host import now_ms
    from onward.runtime.security.accounts import counts

    return {
        "token_id": token.token_id,
        "name": token.name,
        "role": token.role,
        "workflows": token.workflows,
        "created_by": token.created_by,
        "expires_at": _iso(token.expires_ms),
        "revoked_at": _iso(token.revoked_ms),
        "used_at": _iso(token.used_ms),
        "counts": counts(token, now_ms()),
    }


def _iso(at_ms: int | None) -> str | None:
    from onward.kernel.timestamps import to_iso

    return None if at_ms is None else to_iso(at_ms)
