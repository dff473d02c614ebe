"""Links that nodes hand out: signed where the node runs, and written down nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from onward.errors import CredentialError
from onward.kernel.messages import Token
from onward.kernel.program import Activity, LinkRequest
from onward.ports.clock import Clock
from onward.ports.security.crypto import Signer
from onward.runtime.signals.signed_links import LinkGrant, write_link

_PLACES = {"approval": "approvals", "callback": "callbacks"}


class NodeLinks:
    """Makes the links that a node wants, for the API at a public address."""

    def __init__(self, signer: Signer, clock: Clock, public_url: str) -> None:
        self._signer = signer
        self._clock = clock
        self._base = f"{public_url.rstrip('/')}/api/v1" if public_url else ""

    def links(self, token: Token, asked: Sequence[LinkRequest]) -> dict[str, str]:
        """Return the links by their marks; CredentialError says why there can be none."""
        if asked and not self._base:
            raise CredentialError(
                "links need the address that people reach the API at: start this process with"
                " --public-url, such as --public-url https://onward.example"
            )
        now_ms = self._clock.now_ms()
        return {one.mark: self._link(token, one, now_ms) for one in asked}

    def _link(self, token: Token, one: LinkRequest, now_ms: int) -> str:
        invitation = LinkGrant(
            purpose=one.purpose,
            execution_id=token.execution_id,
            address=one.address,
            person=one.person,
            expires_ms=now_ms + one.lasts_ms,
        )
        return f"{self._base}/{_PLACES[one.purpose]}/{write_link(self._signer, invitation)}"


def filled(activity: Activity, links: Mapping[str, str]) -> Activity:
    """Return an activity with links where their marks are; ValidationError when one is too long."""
    if not links:
        return activity
    node = activity.node
    plain = _filled(msgspec.to_builtins(node), links)
    return msgspec.structs.replace(activity, node=msgspec.convert(plain, type(node)))


def secrets_of(links: Mapping[str, str]) -> dict[str, str]:
    """Return what must not be written down: each link, and what of it is signed."""
    return {**links, **{f"{mark}/": one.rpartition("/")[2] for mark, one in links.items()}}


def _filled(value: Any, links: Mapping[str, str]) -> Any:
    match value:
        case str():
            for mark, link in links.items():
                value = value.replace(mark, link)
            return value
        case list() | tuple():
            return [_filled(one, links) for one in value]
        case dict():
            return {name: _filled(one, links) for name, one in value.items()}
        case _:
            return value
