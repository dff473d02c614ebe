"""Sealing and signing with keys that are not in the store."""

from __future__ import annotations

from typing import Protocol


class Sealer(Protocol):
    """Seals texts that are stored and read again, so that the store alone does not reveal them."""

    def seal(self, purpose: str, text: str) -> str:
        """Return a text sealed for a purpose, in one word; CredentialError when there is no key."""
        ...

    def open(self, purpose: str, sealed: str) -> str:
        """Return what was sealed for a purpose; CredentialError when it does not open.

        What was never sealed is returned as it is.
        """
        ...

    def current(self, sealed: str) -> bool:
        """Return whether something is sealed with the newest key; also when there is no key."""
        ...


class Signer(Protocol):
    """Signs what is given to others and comes back, with a key that only servers know."""

    def sign(self, data: bytes) -> bytes:
        """Return a signature; CredentialError when there is no key and none can be made."""
        ...

    def verifies(self, data: bytes, signature: bytes) -> bool:
        """Return whether a signature is ours, by any key that is still known."""
        ...
