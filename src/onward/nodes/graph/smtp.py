"""The `smtp` node: send one mail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.nodes.failures import RefusedError
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import MailServer, OutsideError

if TYPE_CHECKING:
    from onward.nodes.graph.mail_message import Addresses

Recipients = str | list[str]
_PORTS = {"none": 25, "starttls": 587, "tls": 465}


class SmtpNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Send a mail; the output is `{sent, message_id, accepted}`.

    `to`, `cc` and `bcc` are an address, several with commas between, or a list. `from` may be
    left to the credential. Give `text`, `html` or both. The message id follows from the run, so a
    mail that is sent again by a retry is recognised as the same mail.
    """

    to: Recipients
    cc: Recipients = []
    bcc: Recipients = []
    sender: str | None = msgspec.field(default=None, name="from")
    subject: Annotated[str, Meta(max_length=2_000)] = ""
    text: str | None = None
    html: str | None = None
    timeout: Annotated[float, Meta(gt=0, le=3_600, description="seconds")] = 30.0

    def __post_init__(self) -> None:
        """Refuse a mail without content."""
        if self.text is None and self.html is None:
            raise ValueError("a mail needs `text`, `html` or both")

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Hand the mail over once. Whether to try again is the retry policy's to decide."""
        # The mail library of the standard library is slow to import, and most runs send no mail.
        from onward.nodes.graph.mail_message import (  # noqa: PLC0415
            compose,
            read_address,
            read_addresses,
        )

        try:
            server = _server(tools.credentials, self.timeout)
            sender = read_address("from", self.sender or _default_sender(tools.credentials))
            to, cc, bcc = (
                read_addresses("to", self.to),
                read_addresses("cc", self.cc),
                read_addresses("bcc", self.bcc),
            )
            message_id, message = compose(
                sender=sender,
                to=to,
                cc=cc,
                subject=self.subject,
                text=self.text,
                html=self.html,
                key=tools.idempotency_key,
            )
            recipients = _envelope(to, cc, bcc)
        except RefusedError as verdict:
            return _failed(verdict.code, str(verdict))
        try:
            accepted = await tools.mail.send(server, sender.addr_spec, recipients, message)
        except OutsideError as error:
            return _failed(error.code, str(error), host=server.host, port=server.port)
        return Succeeded({"sent": True, "message_id": message_id, "accepted": list(accepted)})


def _envelope(*groups: Addresses) -> list[str]:
    """Return every recipient once: blind copies exist only here, never in a header."""
    everyone = dict.fromkeys(address.addr_spec for group in groups for address in group)
    if not everyone:
        raise RefusedError(
            "the mail has no recipient: give at least one address in `to`", "SMTP_MAIL"
        )
    return list(everyone)


def _default_sender(fields: Mapping[str, str]) -> str:
    sender = fields.get("from") or fields.get("username", "")
    if "@" not in sender:
        raise RefusedError(
            "the mail has no sender: give `from` here or in the credential", "SMTP_MAIL"
        )
    return sender


def _server(fields: Mapping[str, str], timeout_s: float) -> MailServer:
    tls = fields.get("tls", "starttls")
    if tls not in _PORTS:
        raise _bad_credential("`tls` must be none, starttls or tls")
    if not fields.get("host"):
        raise _bad_credential("`host` is missing: give the name of the mail server")
    port = fields.get("port") or str(_PORTS[tls])
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
        raise _bad_credential("`port` must be a number from 1 to 65535")
    if ("username" in fields) != ("password" in fields):
        raise _bad_credential("`username` and `password` go together: give both or neither")
    verify = fields.get("verify_tls", "true")
    if verify not in ("true", "false"):
        raise _bad_credential("`verify_tls` must be true or false")
    return MailServer(
        host=fields["host"],
        port=int(port),
        tls=tls,
        username=fields.get("username"),
        password=fields.get("password"),
        verify_tls=verify == "true",
        timeout_s=timeout_s,
    )


def _bad_credential(problem: str) -> RefusedError:
    return RefusedError(f"the mail credential does not describe a server: {problem}", "CREDENTIAL")


def _failed(code: str, message: str, **details: Any) -> Failed:
    return Failed(NodeError(message=message, code=code, details=details))
