"""Users, API tokens and logins, in three tables."""

from __future__ import annotations

from typing import Any

import msgspec

from onward.adapters.sql.database import SqlDatabase
from onward.ports.security.accounts import Accounts, ApiToken, Login, User

_ANYONE = """
SELECT 1 FROM account WHERE enabled
UNION ALL
SELECT 1 FROM api_token
WHERE revoked_ms IS NULL AND (expires_ms IS NULL OR expires_ms > $1)
LIMIT 1
"""
_ADD_USER = "INSERT INTO account VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING"
_CHANGE_USER = """
UPDATE account SET role = $2, password = $3, enabled = $4, changed_ms = $5 WHERE name = $1
"""
_ISSUE = """
INSERT INTO api_token (token_id, name, hash, role, workflows, created_ms, created_by, expires_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
"""
_REVOKE = "UPDATE api_token SET revoked_ms = $2 WHERE token_id = $1 AND revoked_ms IS NULL"
_USERS = "SELECT * FROM account ORDER BY name"
_NEWEST_TOKENS = "SELECT * FROM api_token WHERE token_id < $1 ORDER BY token_id DESC LIMIT $2"
_LOGIN = """
SELECT login.hash, login.name, login.created_ms, login.expires_ms, account.*
FROM login JOIN account ON account.name = login.name WHERE login.hash = $1
"""


class TableAccounts:
    """`Accounts` in a database."""

    def __init__(self, tables: SqlDatabase) -> None:
        self._tables = tables

    async def anyone(self, now_ms: int) -> bool:
        return bool(await self._tables.rows(_ANYONE, now_ms))

    async def add_user(self, user: User) -> bool:
        values = msgspec.structs.astuple(user)
        return await self._tables.change((_ADD_USER, values)) == 1

    async def change_user(self, user: User, *, log_out: bool) -> bool:
        values = (user.name, user.role, user.password, user.enabled, user.changed_ms)
        more = [("DELETE FROM login WHERE name = $1", (user.name,))] if log_out else []
        return await self._tables.change((_CHANGE_USER, values), *more) == 1

    async def remove_user(self, name: str) -> bool:
        gone = ("DELETE FROM account WHERE name = $1", (name,))
        return await self._tables.change(gone, ("DELETE FROM login WHERE name = $1", (name,))) == 1

    async def user(self, name: str) -> User | None:
        rows = await self._tables.rows("SELECT * FROM account WHERE name = $1", name)
        return _user(rows[0]) if rows else None

    async def users(self) -> list[User]:
        return [_user(row) for row in await self._tables.rows(_USERS)]

    async def add_token(self, token: ApiToken) -> None:
        values = (
            token.token_id,
            token.name,
            token.hash,
            token.role,
            write_names(token.workflows),
            token.created_ms,
            token.created_by,
            token.expires_ms,
        )
        await self._tables.change((_ISSUE, values))

    async def token(self, token_id: str) -> ApiToken | None:
        rows = await self._tables.rows("SELECT * FROM api_token WHERE token_id = $1", token_id)
        return _token(rows[0]) if rows else None

    async def token_of(self, hash_: str) -> ApiToken | None:
        rows = await self._tables.rows("SELECT * FROM api_token WHERE hash = $1", hash_)
        return _token(rows[0]) if rows else None

    async def tokens(self, *, before: str, limit: int) -> list[ApiToken]:
        return [_token(row) for row in await self._tables.rows(_NEWEST_TOKENS, before, limit)]

    async def revoke_token(self, token_id: str, now_ms: int) -> bool:
        return await self._tables.change((_REVOKE, (token_id, now_ms))) == 1

    async def use_token(self, token_id: str, now_ms: int) -> None:
        used = "UPDATE api_token SET used_ms = $2 WHERE token_id = $1"
        await self._tables.change((used, (token_id, now_ms)))

    async def add_login(self, login: Login) -> None:
        values = msgspec.structs.astuple(login)
        over = ("DELETE FROM login WHERE expires_ms < $1", (login.created_ms,))
        await self._tables.change(("INSERT INTO login VALUES ($1, $2, $3, $4)", values), over)

    async def login_of(self, hash_: str) -> tuple[Login, User] | None:
        rows = await self._tables.rows(_LOGIN, hash_)
        if not rows:
            return None
        _, name, created_ms, expires_ms, *user = rows[0]
        login = Login(hash=hash_, name=name, created_ms=created_ms, expires_ms=expires_ms)
        return login, _user(tuple(user))

    async def remove_login(self, hash_: str) -> None:
        await self._tables.change(("DELETE FROM login WHERE hash = $1", (hash_,)))


def write_names(names: tuple[str, ...] | None) -> str | None:
    """Return a list of names as it is written in a column."""
    return None if names is None else msgspec.json.encode(sorted(names)).decode()


def read_names(text: str | None) -> tuple[str, ...] | None:
    """Return a list of names that was written in a column."""
    return None if text is None else msgspec.json.decode(text, type=tuple[str, ...])


def _user(row: tuple[Any, ...]) -> User:
    name, role, password, enabled, created_ms, changed_ms = row
    return User(
        name=name,
        role=role,
        password=password,
        enabled=bool(enabled),
        created_ms=created_ms,
        changed_ms=changed_ms,
    )


def _token(row: tuple[Any, ...]) -> ApiToken:
    token_id, name, hash_, role, workflows, created_ms, created_by, *times = row
    expires_ms, revoked_ms, used_ms = times
    return ApiToken(
        token_id=token_id,
        name=name,
        hash=hash_,
        role=role,
        workflows=read_names(workflows),
        created_ms=created_ms,
        created_by=created_by,
        expires_ms=expires_ms,
        revoked_ms=revoked_ms,
        used_ms=used_ms,
    )


_conforms: type[Accounts] = TableAccounts
