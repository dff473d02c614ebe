"""The smtp node, through the real client, against a real server."""

from __future__ import annotations

import email
from email import policy
from email.message import EmailMessage
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.host.servers import Certificates, Mailbox, smtp_server
from onward.adapters.host.http import HostHttp
from onward.adapters.host.log import HostLog
from onward.adapters.host.mail import HostMail
from onward.kernel.outcome import Failed, Succeeded
from onward.nodes.failures import RefusedError
from onward.nodes.graph.mail_message import read_addresses
from onward.nodes.graph.smtp import SmtpNode
from onward.ports.nodes.node import Tools

MAIL = {"to": "bob@test.example", "from": "ann@test.example", "subject": "hi", "text": "hello"}


async def run(
    key: str = "key-1", fields: dict[str, str] | None = None, **parameters: Any
) -> tuple[Succeeded | Failed, Mailbox]:
    async with smtp_server() as box:
        node = msgspec.convert({**MAIL, **parameters}, SmtpNode)
        server = {"host": "127.0.0.1", "port": str(box.port), "tls": "none"}
        tools = Tools(HostHttp(), HostMail(), HostLog(), {**server, **(fields or {})}, key)
        return await node.run(tools), box


async def sent(**parameters: Any) -> tuple[dict[str, Any], EmailMessage, list[str]]:
    outcome, box = await run(**parameters)
    assert isinstance(outcome, Succeeded)
    envelope = box.envelopes[0]
    message = email.message_from_bytes(envelope.content, policy=policy.default)
    return outcome.output, cast(EmailMessage, message), envelope.rcpt_tos


async def failure(**parameters: Any) -> Failed:
    outcome, box = await run(**parameters)
    assert isinstance(outcome, Failed)
    assert [] == box.envelopes
    return outcome


async def test_the_output_says_what_was_sent_to_whom():
    output, message, _ = await sent()

    assert {
        "sent": True,
        "message_id": message["Message-ID"],
        "accepted": ["bob@test.example"],
    } == output


async def test_text_and_html_are_alternatives_in_any_script():
    _, message, _ = await sent(text="héllo 你好", html="<b>héllo</b>", subject="Grüße 🎉")

    assert "Grüße 🎉" == message["Subject"]
    assert "multipart/alternative" == message.get_content_type()
    assert ["héllo 你好", "<b>héllo</b>"] == [
        cast(EmailMessage, part).get_content().strip() for part in message.iter_parts()
    ]


async def test_html_alone_is_html():
    _, message, _ = await sent(text=None, html="<p>x</p>")

    assert "text/html" == message.get_content_type()


async def test_long_lines_and_lines_of_one_dot_survive():
    text = "x" * 5_000 + "\n.\n..\nend"

    _, message, _ = await sent(text=text)

    assert text.splitlines() == message.get_content().splitlines()


@pytest.mark.parametrize("end", ["\r\n.\r\n", "\n.\n", "\r.\r", "\n.\r\n", "\r\n.\n"])
@pytest.mark.parametrize("letter", ["x", "ü"])
async def test_no_text_can_end_the_mail_and_smuggle_another(end: str, letter: str):
    outcome, box = await run(text=f"{letter}{end}MAIL FROM:<eve@test.example>\r\nrest")

    assert isinstance(outcome, Succeeded)
    assert ["ann@test.example"] == [envelope.mail_from for envelope in box.envelopes]


@given(st.text(alphabet='ab@.<>,;:"()[]\\ =?ü\n', max_size=40) | st.text())
def test_any_text_is_addresses_or_refused(text: str):
    try:
        found = read_addresses("to", text)
    except RefusedError:
        return
    assert all(one.addr_spec.isascii() and one.addr_spec.isprintable() for one in found)


async def test_blind_copies_are_delivered_and_in_no_header():
    _, message, recipients = await sent(
        to=["Bob <bob@test.example>", "eve@test.example"],
        cc="cid@test.example, Dan Ö. <dan@test.example>",
        bcc=["hidden@test.example", "bob@test.example"],
    )

    assert [f"{name}@test.example" for name in ("bob", "eve", "cid", "dan", "hidden")] == recipients
    assert "Bob <bob@test.example>, eve@test.example" == message["To"]
    assert "Dan Ö." == message["Cc"].addresses[1].display_name
    assert "hidden" not in message.as_string()


async def test_the_same_key_is_the_same_mail_and_another_key_another():
    ids = [(await sent(key=key))[0]["message_id"] for key in ("a", "a", "b")]

    assert ids[0] == ids[1] != ids[2]
    assert ids[0].endswith("@test.example>")


async def test_the_sender_may_come_from_the_credential():
    _, message, _ = await sent(**{"from": None, "fields": {"from": "Shop <shop@test.example>"}})

    assert "Shop <shop@test.example>" == message["From"]


async def test_an_international_domain_is_sent_in_ascii():
    _, _, recipients = await sent(to="bob@bücher.example")

    assert ["bob@xn--bcher-kva.example"] == recipients


async def test_refused_recipients_are_missing_from_the_accepted():
    output, _, _ = await sent(to=["nobody@test.example", "bob@test.example"])

    assert ["bob@test.example"] == output["accepted"]


async def test_a_server_that_refuses_is_a_failure_with_its_code():
    failed = await failure(to="nobody@test.example")

    assert "SMTP_REFUSED" == failed.error.code
    assert "127.0.0.1" == failed.error.details["host"]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"subject": "hi\r\nBcc: eve@test.example"}, "`subject` holds a line break"),
        ({"subject": "a\0b"}, "`subject` holds a line break or control"),
        ({"subject": "a\u2028b"}, "`subject` holds a line break"),
        ({"subject": "a\x85b"}, "`subject` holds a line break"),
        ({"subject": "\ud800"}, "surrogate"),
        ({"text": "\ud800"}, "surrogate"),
        ({"to": "bob@test.example\nBcc: eve@test.example"}, "`to` holds a line break"),
        ({"to": "bob@test.example>\r\nRCPT TO:<eve@test.example"}, "`to` holds a line break"),
        ({"cc": ["x@test.example\r"]}, "`cc` holds a line break"),
        ({"from": "ann@test.example\nX: y"}, "`from` holds a line break"),
        ({"from": "ann@test.example, eve@test.example"}, "exactly one address, not 2"),
        ({"to": "not an address"}, "`to`: 'not an address' is not a mail address"),
        ({"to": "bob"}, "is not a mail address"),
        ({"to": "@test.example"}, "is not a mail address"),
        ({"to": "bob@test.example <eve@test.example>"}, "is not a mail address"),
        ({"to": "bøb@test.example"}, "must be ASCII"),
        ({"to": "x" * 400 + "@test.example"}, "not too long"),
        ({"to": "bob@" + "x" * 70 + ".example"}, "domain that cannot exist"),
        ({"to": "b=<"}, "is not a mail address"),
        ({"to": "a@b.example," * 1_000}, "give a list"),
        ({"to": []}, "no recipient"),
        ({"to": " "}, "no recipient"),
        ({"from": None}, "no sender"),
    ],
)
async def test_a_mail_that_must_not_be_sent_is_refused(parameters: dict[str, Any], words: str):
    failed = await failure(**parameters)

    assert "SMTP_MAIL" == failed.error.code
    assert words in failed.error.message


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"host": ""}, "`host` is missing"),
        ({"port": "smtp"}, "`port` must be a number"),
        ({"port": "70000"}, "`port` must be a number"),
        ({"tls": "yes"}, "`tls` must be"),
        ({"username": "ann"}, "go together"),
        ({"verify_tls": "no"}, "`verify_tls` must be"),
    ],
)
async def test_a_credential_that_is_no_server_is_refused(fields: dict[str, str], words: str):
    failed = await failure(fields=fields)

    assert "CREDENTIAL" == failed.error.code
    assert words in failed.error.message


async def test_starttls_is_the_default(certificates: Certificates):
    async with smtp_server(tls="starttls", context=certificates.server, login=True) as box:
        fields = {"host": "127.0.0.1", "port": str(box.port)}
        login = {"username": "ann", "password": "s3cret-word"}
        mail = HostMail(certificates.client)
        tools = Tools(HostHttp(), mail, HostLog(), {**fields, **login}, "k")

        outcome = await msgspec.convert(MAIL, SmtpNode).run(tools)

    assert isinstance(outcome, Succeeded)
