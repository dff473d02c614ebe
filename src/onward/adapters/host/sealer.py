"""Single texts sealed as credentials are, in one word: `sealed:` and a record in base64."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec

from onward.adapters.host.keys import KeyRing
from onward.adapters.host.sealed_records import SealedRecord, newest_key_of, seal, unseal
from onward.errors import CredentialError
from onward.ports.security.crypto import Sealer

PREFIX = "sealed:"
_FIELD = "text"


class HostSealer:
    """Seals with the newest key of a ring, and opens with any of them."""

    def __init__(self, ring: KeyRing, *, makes_key: bool) -> None:
        self._ring = ring
        self._makes_key = makes_key
        """Whether the first seal makes the key file: only where no other process needs it."""

    def seal(self, purpose: str, text: str) -> str:
        if self._makes_key and not self._ring.keys():
            self._ring.add()
        plain = msgspec.json.encode({_FIELD: text})
        record = seal(newest_key_of(self._ring), _bound(purpose), plain)
        return PREFIX + urlsafe_b64encode(msgspec.json.encode(record)).decode()

    def open(self, purpose: str, sealed: str) -> str:
        if not sealed.startswith(PREFIX):
            return sealed
        return unseal(self._ring, _bound(purpose), _record(sealed, purpose), purpose)[_FIELD]

    def current(self, sealed: str) -> bool:
        keys = self._ring.keys()
        if not keys:
            return not self._makes_key or sealed.startswith(PREFIX)
        return sealed.startswith(PREFIX) and _record(sealed, "a secret").key == keys[0].id


def _record(sealed: str, place: str) -> SealedRecord:
    try:
        return msgspec.json.decode(urlsafe_b64decode(sealed[len(PREFIX) :]), type=SealedRecord)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise CredentialError(f"{place} is damaged: make a new one") from None


def _bound(purpose: str) -> str:
    return f"onward secret 1\0{{key}}\0{purpose}"


_conforms: type[Sealer] = HostSealer
