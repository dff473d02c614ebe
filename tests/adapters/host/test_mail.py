"""The mail adapter against a real SMTP server."""

from __future__ import annotations

import asyncio
import email
import socket
from email.utils import parsedate_to_datetime

import pytest

from adapters.host.servers import Certificates, smtp_server, tcp_server
from onward.adapters.host.mail import HostMail
from onward.ports.nodes.outside import MailServer, OutsideError

MESSAGE = b"From: ann@test.example\r\nSubject: hello\r\n\r\nGood morning.\r\n.\r\nBye.\r\n"
LOGIN = {"username": "ann", "password": "s3cret-word"}


def server(port: int, **more: object) -> MailServer:
    return MailServer(**{"host": "127.0.0.1", "port": port, "tls": "none", **more})  # type: ignore[arg-type]  # test data


async def send(mail: HostMail, to: MailServer, *recipients: str, message: bytes = MESSAGE):
    return await mail.send(to, "ann@test.example", recipients or ("bob@test.example",), message)


async def error_of(mail: HostMail, to: MailServer, *recipients: str, **more: bytes) -> OutsideError:
    with pytest.raises(OutsideError) as caught:
        await send(mail, to, *recipients, **more)
    return caught.value


async def test_a_mail_arrives_whole_and_dated():
    async with smtp_server() as box:
        accepted = await send(HostMail(), server(box.port))

    arrived = box.envelopes[0]
    message = email.message_from_bytes(arrived.content)
    assert ("bob@test.example",) == accepted
    assert ("ann@test.example", ["bob@test.example"]) == (arrived.mail_from, arrived.rcpt_tos)
    assert "Good morning.\r\n.\r\nBye.\r\n" == message.get_payload()
    assert parsedate_to_datetime(message["Date"]).year >= 2024


@pytest.mark.parametrize("tls", ["starttls", "tls"])
async def test_mail_goes_over_verified_tls_with_a_login(tls: str, certificates: Certificates):
    async with smtp_server(tls=tls, context=certificates.server, login=True) as box:
        await send(HostMail(certificates.client), server(box.port, tls=tls, **LOGIN))

    assert 1 == len(box.envelopes)


@pytest.mark.parametrize("tls", ["starttls", "tls"])
async def test_an_unknown_authority_is_a_tls_error(tls: str, certificates: Certificates):
    async with smtp_server(tls=tls, context=certificates.server) as box:
        error = await error_of(HostMail(), server(box.port, tls=tls))

    assert ("SMTP_TLS", []) == (error.code, box.envelopes)


async def test_tls_is_not_verified_when_told_so(certificates: Certificates):
    async with smtp_server(tls="tls", context=certificates.server) as box:
        await send(HostMail(), server(box.port, tls="tls", verify_tls=False))

    assert 1 == len(box.envelopes)


async def test_without_starttls_on_offer_nothing_is_sent_in_the_clear():
    async with smtp_server() as box:
        error = await error_of(HostMail(), server(box.port, tls="starttls", **LOGIN))

    assert ("SMTP_TLS", []) == (error.code, box.envelopes)
    assert "STARTTLS" in str(error)


async def test_a_wrong_password_is_an_auth_error_without_the_password(certificates: Certificates):
    wrong = {"username": "ann", "password": "wr0ng-word"}
    async with smtp_server(tls="tls", context=certificates.server, login=True) as box:
        error = await error_of(HostMail(certificates.client), server(box.port, tls="tls", **wrong))

    assert "SMTP_AUTH" == error.code
    assert "wr0ng-word" not in str(error)


async def test_a_login_where_none_is_offered_is_an_auth_error():
    async with smtp_server() as box:
        error = await error_of(HostMail(), server(box.port, **LOGIN))

    assert "SMTP_AUTH" == error.code


async def test_some_recipients_refused_still_delivers_to_the_others():
    async with smtp_server() as box:
        accepted = await send(
            HostMail(), server(box.port), "nobody@test.example", "bob@test.example"
        )

    assert ("bob@test.example",) == accepted
    assert ["bob@test.example"] == box.envelopes[0].rcpt_tos


async def test_every_recipient_refused_is_an_error():
    async with smtp_server() as box:
        error = await error_of(HostMail(), server(box.port), "nobody@test.example")

    assert ("SMTP_REFUSED", []) == (error.code, box.envelopes)


async def test_a_rejected_message_is_an_error_with_the_servers_reason():
    async with smtp_server() as box:
        error = await error_of(HostMail(), server(box.port), message=MESSAGE + b"buy now\r\n")

    assert "SMTP_REFUSED" == error.code
    assert "554 looks like spam" in str(error)


async def test_nobody_listening_is_a_connect_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        error = await error_of(HostMail(), server(taken.getsockname()[1]))

    assert "SMTP_CONNECT" == error.code


async def test_a_server_that_never_greets_is_given_up_after_the_timeout():
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with tcp_server(silent) as port:
        error = await error_of(HostMail(), server(port, timeout_s=0.05))

    assert "SMTP_TIMEOUT" == error.code


async def test_a_server_that_vanishes_after_taking_the_mail_is_no_failure():
    """A failure here would be retried, and the mail sent twice."""

    async def rude(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 rude\r\n")
        for _ in range(4):  # EHLO, MAIL, RCPT, DATA
            line = await reader.readline()
            writer.write(b"354 go on\r\n" if line.startswith(b"DATA") else b"250 OK\r\n")
        await reader.readuntil(b"\r\n.\r\n")
        writer.write(b"250 taken\r\n")
        await reader.readline()

    plain = MESSAGE.replace(b".\r\n", b"")
    async with tcp_server(rude) as port:
        accepted = await send(HostMail(), server(port), message=plain)

    assert ("bob@test.example",) == accepted
