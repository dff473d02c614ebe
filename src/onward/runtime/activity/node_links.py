"""Links that nodes hand out: signed where the node runs, and stored nowhere."""

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

_ROUTES = {"approval": "approvals", "callback": "callbacks"}


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
        return {link.mark: self._link(token, link, now_ms) for link in asked}

    def _link(self, token: Token, link: LinkRequest, now_ms: int) -> str:
        grant = LinkGrant(
            purpose=link.purpose,
            execution_id=token.execution_id,
            address=link.address,
            person=link.person,
            expires_ms=now_ms + link.lasts_ms,
        )
        return f"{self._base}/{_ROUTES[link.purpose]}/{write_link(self._signer, grant)}"


def fill_links(activity: Activity, links: Mapping[str, str]) -> Activity:
    """Return an activity with links where their marks are; ValidationError when one is too long."""
    if not links:
        return activity
    node = activity.node
    plain = _fill(msgspec.to_builtins(node), links)
    return msgspec.structs.replace(activity, node=msgspec.convert(plain, type(node)))


def secrets_of(links: Mapping[str, str]) -> dict[str, str]:
    """Return what must not be stored: each link, and the signed part of it."""
    return {**links, **{f"{mark}/": link.rpartition("/")[2] for mark, link in links.items()}}


def _fill(value: Any, links: Mapping[str, str]) -> Any:
    match value:
        case str():
            for mark, link in links.items():
                value = value.replace(mark, link)
            return value
        case list() | tuple():
            return [_fill(item, links) for item in value]
        case dict():
            return {name: _fill(item, links) for name, item in value.items()}
        case _:
            return value
