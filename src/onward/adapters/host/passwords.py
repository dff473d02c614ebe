"""Passwords by Argon2id, with the parameters that RFC 9106 recommends for little memory."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

from onward.distribution import install_command
from onward.errors import InputError
from onward.ports.security.accounts import Passwords

if TYPE_CHECKING:
    from argon2 import PasswordHasher

AT_ONCE = 2
"""Each takes 64 MiB and all of a core for some ten milliseconds: the rest waits its turn."""


class HostPasswords:
    """Hashes in threads, a few at a time."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._nobodys = ""

    @cached_property
    def _hasher(self) -> PasswordHasher:
        try:
            from argon2 import PasswordHasher  # noqa: PLC0415  (an extra: it may be missing)
        except ModuleNotFoundError:
            raise InputError(
                f"passwords need argon2-cffi, which is not installed: {install_command('server')}"
            ) from None
        return PasswordHasher()

    async def hash(self, password: str) -> str:
        """Return how a password is kept."""
        async with self._turn:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def fits(self, hash_: str | None, password: str) -> bool:
        """Return whether a password has this hash; no hash takes as long as a wrong password."""
        if not self._nobodys:
            self._nobodys = await self.hash("a password that nobody has")
        async with self._turn:
            fits = await asyncio.to_thread(self._verify, hash_ or self._nobodys, password)
        return fits and hash_ is not None

    def _verify(self, hash_: str, password: str) -> bool:
        from argon2.exceptions import InvalidHashError, VerificationError  # noqa: PLC0415

        try:
            return self._hasher.verify(hash_, password)
        except (VerificationError, InvalidHashError):
            return False


_conforms: type[Passwords] = HostPasswords
