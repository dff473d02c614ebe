"""Signatures by HMAC-SHA256, with keys that follow from those of the key ring."""

from __future__ import annotations

import hmac
from hashlib import sha256

from onward.adapters.host.keys import Key, KeyRing
from onward.errors import CredentialError
from onward.ports.security.crypto import Signer


class HostSigner:
    """Signs with the newest key of a ring, and knows signatures by the older ones."""

    def __init__(self, ring: KeyRing, *, makes_key: bool) -> None:
        self._ring = ring
        self._makes_key = makes_key
        """Whether the first signature makes the key file: only where no other process needs it."""

    def sign(self, data: bytes) -> bytes:
        if self._makes_key and not self._ring.keys():
            self._ring.add()
        keys = self._ring.keys()
        if not keys:
            raise CredentialError(
                "there is no key to sign links with: set ONWARD_KEY, or name a key file, the same"
                " for every master; make one with: openssl rand -base64 32"
            )
        return _signature(keys[0], data)

    def verifies(self, data: bytes, signature: bytes) -> bool:
        keys = self._ring.keys()
        return any(hmac.compare_digest(_signature(key, data), signature) for key in keys)


def _signature(key: Key, data: bytes) -> bytes:
    own = hmac.new(key.secret, b"onward links", sha256).digest()
    return hmac.new(own, data, sha256).digest()


_conforms: type[Signer] = HostSigner
