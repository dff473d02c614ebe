"""Mail by aiosmtplib: one connection for each message, closed in every case."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import suppress
from email.utils import formatdate
from typing import cast

import aiosmtplib

from onward.ports.nodes.outside import Greeter, Mail, MailServer, OutsideError


class HostMail:
    """Hands mail to SMTP servers. `trust` replaces the host's certificate authorities."""

    def __init__(self, trust: ssl.SSLContext | None = None) -> None:
        self._trust = trust

    async def send(
        self, server: MailServer, sender: str, recipients: Sequence[str], message: bytes
    ) -> Sequence[str]:
        place = f"{server.host}:{server.port}"
        client = self._client(server)
        try:
            async with asyncio.timeout(server.timeout_s) as deadline:
                accepted = await _deliver(client, server, sender, recipients, message)
                # The mail is on its way: nothing may make it a failure, and so a second mail.
                deadline.reschedule(None)
                with suppress(aiosmtplib.SMTPException, OSError):
                    await client.quit(timeout=2)
        except TimeoutError:
            reason = f"{place} did not take the mail within {server.timeout_s:g} s"
            raise OutsideError(reason, "SMTP_TIMEOUT") from None
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            raise _translate(place, error) from None
        finally:
            client.close()
        return accepted

    async def greet(self, server: MailServer) -> None:
        place = f"{server.host}:{server.port}"
        client = self._client(server)
        try:
            async with asyncio.timeout(server.timeout_s):
                await _enter(client, server)
                await client.noop()
        except TimeoutError:
            reason = f"{place} did not answer within {server.timeout_s:g} s"
            raise OutsideError(reason, "SMTP_TIMEOUT") from None
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            raise _translate(place, error) from None
        finally:
            client.close()

    def _client(self, server: MailServer) -> aiosmtplib.SMTP:
        return _Client(
            hostname=server.host,
            port=server.port,
            timeout=None,  # `send` keeps the deadline of the whole exchange
            use_tls=server.tls == "tls",
            # True demands STARTTLS: "if offered" would let anyone in between turn it off.
            start_tls=server.tls == "starttls",
            tls_context=self._context(server) if server.tls != "none" else None,
        )

    def _context(self, server: MailServer) -> ssl.SSLContext:
        if server.verify_tls:
            return self._trust or ssl.create_default_context()
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context


class _Client(aiosmtplib.SMTP):
    """The library's client, which leaves no connection behind when it is closed.

    Closing alone would wait for a server to end TLS too, for longer than the event loop may live.
    """

    def close(self) -> None:
        transport = cast("asyncio.WriteTransport | None", self.transport)
        super().close()
        if transport is not None:
            transport.abort()


async def _enter(client: aiosmtplib.SMTP, server: MailServer) -> None:
    await client.connect()
    if server.username is not None:
        await client.login(server.username, server.password or "")


async def _deliver(
    client: aiosmtplib.SMTP,
    server: MailServer,
    sender: str,
    recipients: Sequence[str],
    message: bytes,
) -> Sequence[str]:
    await _enter(client, server)
    # The date is when the mail is handed over; only this side has a clock.
    dated = b"Date: " + formatdate().encode() + b"\r\n" + message
    refused, _ = await client.sendmail(sender, list(recipients), dated)
    return tuple(address for address in recipients if address not in refused)


def _translate(place: str, error: Exception) -> OutsideError:
    """Return the port's error. A refused login shows no text of the server: it may echo secrets."""
    match error:
        case aiosmtplib.SMTPAuthenticationError():
            return OutsideError(f"{place} refused the login ({error.code})", "SMTP_AUTH")
        case aiosmtplib.SMTPRecipientsRefused():
            return OutsideError(f"{place} refused every recipient", "SMTP_REFUSED")
        case aiosmtplib.SMTPTimeoutError():
            return OutsideError(f"{place} did not answer in time", "SMTP_TIMEOUT")
        case _ if isinstance(cause := _tls_cause(error), ssl.SSLError):
            reason = getattr(cause, "verify_message", "") or "the handshake failed"
            return OutsideError(f"{place}: TLS: {reason}", "SMTP_TLS")
        case aiosmtplib.SMTPConnectResponseError():
            return OutsideError(f"{place} refused the connection ({error.code})", "SMTP_CONNECT")
        case aiosmtplib.SMTPResponseException():
            text = f"{place} refused the mail: {error.code} {error.message}"
            return OutsideError(text, "SMTP_REFUSED")
        case aiosmtplib.SMTPException() if "STARTTLS extension" in str(error):
            text = f"{place} does not offer STARTTLS: set the credential's `tls` to tls or none"
            return OutsideError(text, "SMTP_TLS")
        case aiosmtplib.SMTPException() if "AUTH" in str(error):
            text = f"{place} offers no login here: leave out the user name, or set `tls`"
            return OutsideError(text, "SMTP_AUTH")
        case _:
            return OutsideError(f"{place}: cannot connect, or was cut off", "SMTP_CONNECT")


def _tls_cause(error: BaseException | None) -> BaseException | None:
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


_conforms: type[Mail] = HostMail
_greets: type[Greeter] = HostMail
