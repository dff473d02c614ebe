"""Signing what is given to others and comes back."""

from __future__ import annotations

from typing import Protocol


class Signer(Protocol):
    """Signs with a key that only servers know."""

    def sign(self, data: bytes) -> bytes:
        """Return a signature; CredentialError when there is no key and none can be made."""
        ...

    def verifies(self, data: bytes, signature: bytes) -> bool:
        """Return whether a signature is ours, by any key that is still known."""
        ...
