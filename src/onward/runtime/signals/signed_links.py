"""Signed links: a link allows one thing, once, until it expires."""

from __future__ import annotations

import base64
import binascii
from typing import Literal

import msgspec

from onward.errors import OnwardError
from onward.ports.security.crypto import Signer

LONGEST_LINK = 4_096
LINK_LASTS_MS = 7 * 24 * 60 * 60 * 1000
"""How long a link of a wait without a limit is valid; a new one can be had any time."""


Purpose = Literal["approval", "callback"]


class LinkError(OnwardError):
    """A link that is not valid, or no longer."""

    def __init__(self, message: str, code: Literal["BAD_LINK", "LINK_EXPIRED"]) -> None:
        self.code = code
        super().__init__(message)


class LinkGrant(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What a link allows: to send a signal to an address of a run, in a person's name."""

    purpose: Purpose
    execution_id: str
    address: str
    person: str
    """Whose decision it is; of a callback, what its signal is called."""
    expires_ms: int


_grants = msgspec.json.Decoder(LinkGrant)


def write_link(signer: Signer, grant: LinkGrant) -> str:
    """Return a grant as the last part of a URL."""
    data = msgspec.json.encode(grant)
    return f"{_text(data)}.{_text(signer.sign(data))}"


def read_link(signer: Signer, link: str, purpose: Purpose, now_ms: int) -> LinkGrant:
    """Return what a link allows; LinkError for one that is not ours, or has expired."""
    body, _, signature = link.partition(".")
    try:
        data = _bytes(body)
        good = len(link) <= LONGEST_LINK and signer.verifies(data, _bytes(signature))
        grant = _grants.decode(data) if good else None
    except (binascii.Error, msgspec.MsgspecError, ValueError):
        grant = None
    if grant is None or grant.purpose != purpose:
        raise LinkError("this link is not one of ours, or was changed on its way", "BAD_LINK")
    if grant.expires_ms < now_ms:
        raise LinkError("this link has expired: ask for a new one", "LINK_EXPIRED")
    return grant


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
