"""Signed links: who has one may do one thing, once, until it expires."""

from __future__ import annotations

import base64
import binascii
from typing import Literal

import msgspec

from onward.errors import OnwardError
from onward.ports.security.crypto import Signer

LONGEST = 4_096
LASTS_MS = 7 * 24 * 60 * 60 * 1000
"""How long a link of a wait without a limit is good; a new one can be had any time."""


Purpose = Literal["approval", "callback"]


class LinkError(OnwardError):
    """A link that is not good, or no longer."""

    def __init__(self, message: str, code: Literal["BAD_LINK", "LINK_EXPIRED"]) -> None:
        self.code = code
        super().__init__(message)


class LinkGrant(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What a link allows: to send a signal to an address of a run, as somebody."""

    purpose: Purpose
    execution_id: str
    address: str
    person: str
    """Whose decision it is; of a callback, what its signal is called."""
    expires_ms: int


_invitations = msgspec.json.Decoder(LinkGrant)


def write_link(signer: Signer, invitation: LinkGrant) -> str:
    """Return an invitation as the end of an address."""
    data = msgspec.json.encode(invitation)
    return f"{_text(data)}.{_text(signer.sign(data))}"


def read_link(signer: Signer, link: str, purpose: Purpose, now_ms: int) -> LinkGrant:
    """Return what a link allows; LinkError for one that is not ours, or no longer good."""
    body, _, signature = link.partition(".")
    try:
        data = _bytes(body)
        good = len(link) <= LONGEST and signer.verifies(data, _bytes(signature))
        invitation = _invitations.decode(data) if good else None
    except (binascii.Error, msgspec.MsgspecError, ValueError):
        invitation = None
    if invitation is None or invitation.purpose != purpose:
        raise LinkError("this link is not one of ours, or was changed on its way", "BAD_LINK")
    if invitation.expires_ms < now_ms:
        raise LinkError("this link has expired: ask for a new one", "LINK_EXPIRED")
    return invitation


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
