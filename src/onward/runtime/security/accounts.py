"""Users, tokens and logins: creating, recognising and removing them."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Any

import msgspec

from onward.errors import InputError, NotThereError, StateConflictError
from onward.ports.clock import Chance, Clock
from onward.ports.nodes.outside import Greeter, Http
from onward.ports.security.accounts import (
    Accounts,
    ApiToken,
    Login,
    Passwords,
    Principal,
    Role,
    User,
)
from onward.ports.security.audit import AuditLog
from onward.ports.security.credentials import CredentialBook
from onward.runtime.security.audit import note

PREFIX = "onward_pat_"
"""What every token begins with: those who search for leaked secrets find it."""
SHORTEST_PASSWORD = 12
LOGIN_MS = 12 * 60 * 60 * 1000
USED_EVERY_MS = 60 * 1000
"""The last use of a token is written no more often than this."""


@dataclass(frozen=True, slots=True)
class AccessPorts:
    """What credentials and access stand on."""

    accounts: Accounts
    passwords: Passwords
    credentials: CredentialBook
    audit: AuditLog
    http: Http
    mail: Greeter


def hash_of(secret: str) -> str:
    """Return the form in which a random secret is stored: only its hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def csrf_of(secret: str) -> str:
    """Return what a page must send with changes, which only our own pages know."""
    return hash_of(f"onward csrf\0{secret}")


class Authenticator:
    """Recognises the caller of a request."""

    def __init__(self, accounts: Accounts, passwords: Passwords, clock: Clock) -> None:
        self._accounts = accounts
        self._passwords = passwords
        self._clock = clock

    async def by_token(self, secret: str) -> Principal | None:
        """Return the owner of a token; None when it is unknown, expired or revoked."""
        if not secret.startswith(PREFIX):
            return None
        token = await self._accounts.token_of(hash_of(secret))
        now_ms = self._clock.now_ms()
        if token is None or not counts(token, now_ms):
            return None
        if token.used_ms is None or now_ms - token.used_ms >= USED_EVERY_MS:
            await self._accounts.use_token(token.token_id, now_ms)
        return Principal(kind="token", name=token.name, role=token.role, workflows=token.workflows)

    async def by_login(self, secret: str) -> Principal | None:
        """Return the user of a login by its secret; None when it has expired."""
        found = await self._accounts.login_of(hash_of(secret))
        if found is None:
            return None
        login, user = found
        if login.expires_ms <= self._clock.now_ms() or not user.enabled:
            return None
        return Principal(kind="user", name=user.name, role=user.role, csrf=csrf_of(secret))

    async def log_in(self, name: str, password: str) -> tuple[str, Login, User] | None:
        """Return the secret of a new login; None, for whatever reason, when it is refused.

        An unknown name takes as long as a wrong password.
        """
        user = await self._accounts.user(name)
        known = user.password if user is not None and user.enabled else None
        if not await self._passwords.fits(known, password) or user is None:
            return None
        secret, now_ms = secrets.token_urlsafe(32), self._clock.now_ms()
        login = Login(
            hash=hash_of(secret), name=name, created_ms=now_ms, expires_ms=now_ms + LOGIN_MS
        )
        await self._accounts.add_login(login)
        return secret, login, user

    async def log_out(self, secret: str) -> None:
        """End a login."""
        await self._accounts.remove_login(hash_of(secret))


class AccountAdministration:
    """Creates and changes users and tokens."""

    def __init__(
        self, accounts: Accounts, passwords: Passwords, clock: Clock, chance: Chance
    ) -> None:
        self._accounts = accounts
        self._passwords = passwords
        self._clock = clock
        self._chance = chance

    async def add_user(self, name: str, role: Role, password: str) -> User:
        """Create a user; StateConflictError when there is one of that name."""
        check_password(password, name)
        now_ms = self._clock.now_ms()
        user = User(
            name=name,
            role=role,
            password=await self._passwords.hash(password),
            enabled=True,
            created_ms=now_ms,
            changed_ms=now_ms,
        )
        if not await self._accounts.add_user(user):
            raise StateConflictError(f"there is a user called {name}", "USER_EXISTS")
        note(f"user {name}", None, _public(user))
        return user

    async def user(self, name: str) -> User:
        """Return a user that must exist."""
        user = await self._accounts.user(name)
        if user is None:
            raise NotThereError(f"there is no user called {name}")
        return user

    async def change_user(
        self,
        name: str,
        *,
        role: Role | None = None,
        enabled: bool | None = None,
        password: str | None = None,
    ) -> User:
        """Change what is given. A new password, or disabling the user, ends all logins."""
        before = await self.user(name)
        changes: dict[str, Any] = {"changed_ms": self._clock.now_ms()}
        if role is not None:
            changes["role"] = role
        if enabled is not None:
            changes["enabled"] = enabled
        if password is not None:
            check_password(password, name)
            changes["password"] = await self._passwords.hash(password)
        after = msgspec.structs.replace(before, **changes)
        if _governs(before) and not _governs(after):
            await self._check_not_last(name)
        log_out = password is not None or not after.enabled
        if not await self._accounts.change_user(after, log_out=log_out):
            raise NotThereError(f"there is no user called {name}")
        note(f"user {name}", _public(before), _public(after))
        return after

    async def change_password(self, name: str, current: str, password: str) -> bool:
        """Let a user change its own password; False when the current one is wrong."""
        user = await self.user(name)
        if not await self._passwords.fits(user.password, current):
            return False
        await self.change_user(name, password=password)
        return True

    async def remove_user(self, name: str) -> None:
        """Remove a user."""
        user = await self.user(name)
        if _governs(user):
            await self._check_not_last(name)
        if not await self._accounts.remove_user(name):
            raise NotThereError(f"there is no user called {name}")
        note(f"user {name}", _public(user), None)

    async def _check_not_last(self, name: str) -> None:
        if not any(_governs(user) for user in await self._accounts.users() if user.name != name):
            raise StateConflictError(
                f"{name} is the last admin: make another one first", "LAST_ADMIN"
            )

    async def add_token(
        self,
        name: str,
        role: Role,
        *,
        by: str,
        workflows: tuple[str, ...] | None = None,
        lasts_ms: int | None = None,
    ) -> tuple[ApiToken, str]:
        """Create a token, and return it with its secret, which cannot be read again."""
        secret, now_ms = PREFIX + secrets.token_urlsafe(32), self._clock.now_ms()
        token = ApiToken(
            token_id=self._chance.execution_id(now_ms).replace("run_", "tok_", 1),
            name=name,
            hash=hash_of(secret),
            role=role,
            workflows=workflows,
            created_ms=now_ms,
            created_by=by,
            expires_ms=None if lasts_ms is None else now_ms + lasts_ms,
        )
        await self._accounts.add_token(token)
        note(f"token {token.token_id}", None, _granted(token))
        return token, secret

    async def token(self, token_id: str) -> ApiToken:
        """Return a token that must exist."""
        token = await self._accounts.token(token_id)
        if token is None:
            raise NotThereError(f"there is no token {token_id}")
        return token

    async def revoke_token(self, token_id: str) -> ApiToken:
        """Revoke a token; one that was revoked stays so."""
        before = await self.token(token_id)
        if await self._accounts.revoke_token(token_id, self._clock.now_ms()):
            note(f"token {token_id}", _granted(before), None)
        return await self.token(token_id)


def counts(token: ApiToken, now_ms: int) -> bool:
    """Return whether a token is valid."""
    return token.revoked_ms is None and (token.expires_ms is None or token.expires_ms > now_ms)


def check_password(password: str, name: str) -> None:
    """Raise InputError for a password that is easily guessed."""
    if len(password) < SHORTEST_PASSWORD:
        raise InputError(f"the password is too short: give at least {SHORTEST_PASSWORD} characters")
    if password.casefold() == name.casefold() or len(set(password)) < 4:
        raise InputError("the password is too easy to guess: choose another")


def _governs(user: User) -> bool:
    return user.role == "admin" and user.enabled


def _public(user: User) -> dict[str, Any]:
    return {"role": user.role, "enabled": user.enabled, "changed_ms": user.changed_ms}


def _granted(token: ApiToken) -> dict[str, Any]:
    return {
        "role": token.role,
        "workflows": sorted(token.workflows) if token.workflows is not None else None,
        "expires_ms": token.expires_ms,
    }
