"""HTTP and mail clients that are imported at their first use.

A command that runs one small workflow should not pay for httpx2 and aiosmtplib at its start: most
such workflows send neither requests nor mail. Processes that stay use `HostHttp` and `HostMail`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from onward.ports.nodes.outside import Greeter, Http, HttpAnswer, HttpRequest, Mail, MailServer

if TYPE_CHECKING:
    from onward.adapters.host.http import HostHttp


class LazyHttp:
    """A `HostHttp` that is made when the first request is sent."""

    def __init__(self) -> None:
        self._client: HostHttp | None = None

    async def send(self, request: HttpRequest) -> HttpAnswer:
        if self._client is None:
            from onward.adapters.host.http import HostHttp  # noqa: PLC0415  (see the module)

            self._client = HostHttp()
        return await self._client.send(request)

    async def aclose(self) -> None:
        """Close every connection."""
        if self._client is not None:
            await self._client.aclose()


class LazyMail:
    """A `HostMail` that is made when the first mail is sent."""

    async def send(
        self, server: MailServer, sender: str, recipients: Sequence[str], message: bytes
    ) -> Sequence[str]:
        from onward.adapters.host.mail import HostMail  # noqa: PLC0415  (see the module)

        return await HostMail().send(server, sender, recipients, message)

    async def greet(self, server: MailServer) -> None:
        from onward.adapters.host.mail import HostMail  # noqa: PLC0415  (see the module)

        await HostMail().greet(server)


_http: type[Http] = LazyHttp
_mail: type[Mail] = LazyMail
_greeter: type[Greeter] = LazyMail
