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

MOST_AT_ONCE = 2
"""Each takes 64 MiB and all of a core for some ten milliseconds: the others wait."""


class HostPasswords:
    """Hashes in threads, a few at a time."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(MOST_AT_ONCE)
        self._unknown_hash = ""

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
        async with self._free:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def fits(self, hash_: str | None, password: str) -> bool:
        if not self._unknown_hash:
            self._unknown_hash = await self.hash("the password of no account")
        async with self._free:
            fits = await asyncio.to_thread(self._verify, hash_ or self._unknown_hash, password)
        return fits and hash_ is not None

    def _verify(self, hash_: str, password: str) -> bool:
        from argon2.exceptions import InvalidHashError, VerificationError  # noqa: PLC0415

        try:
            return self._hasher.verify(hash_, password)
        except (VerificationError, InvalidHashError):
            return False


_conforms: type[Passwords] = HostPasswords
