"""Accounts: people with passwords, programs with tokens, and the roles of both.

Secrets are never stored: a password only as a slow hash, a token and the secret of a login as
SHA-256 (they are random and long, so a fast hash cannot be guessed back).
"""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

Role = Literal["viewer", "editor", "admin"]
RANK: dict[Role, int] = {"viewer": 1, "editor": 2, "admin": 3}
"""A role may do all that the ones below it may."""


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """The caller of a request."""

    kind: Literal["local", "operator", "token", "user"]
    """`local`: a user of this machine; `operator`: the holder of the command line's token."""
    name: str
    role: Role
    workflows: tuple[str, ...] | None = None
    """The only workflows it may touch; None: all of them."""
    csrf: str = ""
    """What a browser must send with every change; "" for those who are no browser."""

    @property
    def actor(self) -> str:
        """Return its name in the audit log."""
        return self.kind if self.kind in {"local", "operator"} else f"{self.kind}:{self.name}"


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A person who may log in."""

    name: str
    role: Role
    password: str
    """The hash of the password."""
    enabled: bool
    created_ms: int
    changed_ms: int


class ApiToken(msgspec.Struct, frozen=True, kw_only=True):
    """What a program sends instead of a password."""

    token_id: str
    name: str
    hash: str
    role: Role
    workflows: tuple[str, ...] | None
    created_ms: int
    created_by: str
    expires_ms: int | None = None
    revoked_ms: int | None = None
    used_ms: int | None = None
    """When it was last used, to a minute."""


class Login(msgspec.Struct, frozen=True, kw_only=True):
    """A browser in which a user has logged in."""

    hash: str
    name: str
    """Of the user."""
    created_ms: int
    expires_ms: int


class Accounts(Protocol):
    """Stores users, tokens and logins."""

    async def anyone(self, now_ms: int) -> bool:
        """Return whether there is an enabled user or a valid token."""
        ...

    async def add_user(self, user: User) -> bool:
        """Add a user; False when there is one of that name."""
        ...

    async def change_user(self, user: User, *, log_out: bool) -> bool:
        """Write a user as it is now, and end all its logins if asked; False: there is none."""
        ...

    async def remove_user(self, name: str) -> bool:
        """Delete a user and its logins; False when there is none."""
        ...

    async def user(self, name: str) -> User | None:
        """Return a user."""
        ...

    async def users(self) -> list[User]:
        """Return all users, by name."""
        ...

    async def add_token(self, token: ApiToken) -> None:
        """Add a token."""
        ...

    async def token(self, token_id: str) -> ApiToken | None:
        """Return a token."""
        ...

    async def token_of(self, hash_: str) -> ApiToken | None:
        """Return the token with this hash, valid or not."""
        ...

    async def tokens(self, *, before: str, limit: int) -> list[ApiToken]:
        """Return tokens with ids below `before`, newest first."""
        ...

    async def revoke_token(self, token_id: str, now_ms: int) -> bool:
        """Revoke a token; False when it is revoked already or does not exist."""
        ...

    async def use_token(self, token_id: str, now_ms: int) -> None:
        """Record that a token was used."""
        ...

    async def add_login(self, login: Login) -> None:
        """Add a login, and delete those that have expired."""
        ...

    async def login_of(self, hash_: str) -> tuple[Login, User] | None:
        """Return the login with this hash, with its user."""
        ...

    async def remove_login(self, hash_: str) -> None:
        """End a login."""
        ...


class Passwords(Protocol):
    """Hashes passwords so that guessing is slow."""

    async def hash(self, password: str) -> str:
        """Return the form in which a password is stored."""
        ...

    async def fits(self, hash_: str | None, password: str) -> bool:
        """Return whether a password has this hash. No hash takes just as long, and never fits."""
        ...
