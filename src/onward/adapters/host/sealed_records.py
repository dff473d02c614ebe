"""Sealed records: AES-256-GCM over the fields of a credential, bound to what they are sealed for.

A record that was changed, or put where it does not belong, does not open.
"""

from __future__ import annotations

import binascii
import secrets
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING

import msgspec

from onward.adapters.host.keys import Key, KeyRing
from onward.distribution import install_command
from onward.errors import CredentialError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES = 12


class SealedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Sealed fields, and the id of the key that opens them."""

    key: str
    nonce: str
    sealed: str


def newest_key_of(ring: KeyRing) -> Key:
    """Return the key to seal with; CredentialError when there is none."""
    keys = ring.keys()
    if not keys:
        raise CredentialError(
            f"there is no key in {ring.place} to seal credentials with:"
            " set ONWARD_KEY or ONWARD_KEY_FILE"
        )
    return keys[0]


def seal(key: Key, purpose: str, plain: bytes) -> SealedRecord:
    """Seal `plain` for a purpose, in which `{key}` stands for the key's id."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    sealed = _cipher(key).encrypt(nonce, plain, _bound(key, purpose))
    return SealedRecord(
        key=key.id, nonce=b64encode(nonce).decode(), sealed=b64encode(sealed).decode()
    )


def unseal(ring: KeyRing, purpose: str, record: SealedRecord, place: str) -> dict[str, str]:
    """Return the fields in a record; CredentialError, naming `place`, when it does not open."""
    keys = ring.keys()
    if not keys:
        raise CredentialError(
            f"{place} is sealed and there is no key in {ring.place}: set ONWARD_KEY or "
            "ONWARD_KEY_FILE"
        )
    key = next((key for key in keys if key.id == record.key), None)
    if key is None:
        raise CredentialError(
            f"{place} was sealed with key {record.key[:16]!r}, which is not in {ring.place}:"
            " add that key, or add the credential again"
        )
    cipher = _cipher(key)
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415  (an extra; see `_cipher`)

    try:
        nonce, sealed = (b64decode(text, validate=True) for text in (record.nonce, record.sealed))
        plain = cipher.decrypt(nonce, sealed, _bound(key, purpose))
        return msgspec.json.decode(plain, type=dict[str, str])
    except (InvalidTag, binascii.Error, ValueError, msgspec.DecodeError):
        raise CredentialError(f"{place} is damaged or was tampered with: add it again") from None


def _bound(key: Key, purpose: str) -> bytes:
    return purpose.replace("{key}", key.id, 1).encode()


def _cipher(key: Key) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415
    except ImportError:
        raise CredentialError(
            "the encrypted credential store needs the package `cryptography`: "
            f"install it with: {install_command('secrets')}"
        ) from None
    return AESGCM(key.secret)
