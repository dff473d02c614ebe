"""Addresses and messages: from what a document says to bytes that a mail server takes.

Every text that becomes a header is checked for line breaks and control characters first, so that
no value can add a header or a recipient of its own.
"""

from __future__ import annotations

from email import policy
from email.errors import NonASCIILocalPartDefect, ObsoleteHeaderDefect
from email.headerregistry import Address
from email.message import EmailMessage
from hashlib import sha256
from typing import cast
from unicodedata import category

from onward.nodes.failures import RefusedError

Addresses = tuple[Address, ...]
_LONGEST_TEXT = 4_000  # the parser takes a time that grows with the square of it
_LONGEST_ADDRESS = 320  # a local part of 64, "@" and a domain of 255 (RFC 5321)
# "Dr. Who <who@example.com>" is obsolete for want of quotes, and what everybody writes; a local
# part that is not ASCII has its own, clearer complaint.
_TOLERATED = (ObsoleteHeaderDefect, NonASCIILocalPartDefect)


def read_address(name: str, text: str) -> Address:
    """Return the single address in `text`. Raises RefusedError, naming the parameter `name`."""
    found = read_addresses(name, text)
    if len(found) != 1:
        raise _bad_mail(f"`{name}` must hold exactly one address, not {len(found)}")
    return found[0]


def read_addresses(name: str, value: str | list[str]) -> Addresses:
    """Return the addresses in `value`. Raises RefusedError, naming the parameter `name`."""
    texts = [value] if isinstance(value, str) else value
    return tuple(address for text in texts for address in _parse(name, text))


def compose(
    *,
    sender: Address,
    to: Addresses,
    cc: Addresses,
    subject: str,
    text: str | None,
    html: str | None,
    key: str,
) -> tuple[str, bytes]:
    """Return the message id and the whole message.

    The id is a function of `key` and the sender's domain alone: the same key is the same mail.
    """
    message = EmailMessage(policy=policy.SMTP)
    message_id = f"<{sha256(key.encode()).hexdigest()[:40]}@{sender.domain}>"
    message["Message-ID"] = message_id
    message["From"] = sender
    if to:
        message["To"] = to
    if cc:
        message["Cc"] = cc
    _check_line("subject", subject)
    message["Subject"] = subject
    try:
        if text is not None:
            message.set_content(text)
        if html is not None and text is not None:
            message.add_alternative(html, subtype="html")
        elif html is not None:
            message.set_content(html, subtype="html")
    except UnicodeEncodeError:
        raise _bad_mail(
            "`text` or `html` holds a lone surrogate, which no mail can carry"
        ) from None
    return message_id, message.as_bytes()


def _parse(name: str, text: str) -> Addresses:
    _check_line(name, text)
    if not text.strip():
        return ()
    if len(text) > _LONGEST_TEXT:
        raise _bad_mail(f"`{name}`: one text of {len(text)} characters: give a list of addresses")
    try:
        header = policy.SMTP.header_factory("to", text)
        found, defects = cast(Addresses, header.addresses), header.defects
    except Exception:
        # The standard library's parser trips over bad addresses in more ways than it documents.
        found, defects = (), ()
    if not found or any(not isinstance(defect, _TOLERATED) for defect in defects):
        raise _bad_mail(f"`{name}`: {text[:100]!r} is not a mail address such as ann@example.com")
    return tuple(_check_address(name, address) for address in found)


def _check_address(name: str, address: Address) -> Address:
    """Return `address` with its domain in ASCII."""
    shown = address.addr_spec[:100]
    if not address.username or not address.domain:
        raise _bad_mail(f"`{name}`: {shown!r} is not a mail address such as ann@example.com")
    if not address.username.isascii() or len(address.addr_spec) > _LONGEST_ADDRESS:
        raise _bad_mail(
            f"`{name}`: {shown!r}: the part before the @ must be ASCII, and not too long"
        )
    try:
        domain = address.domain.encode("idna").decode()
    except UnicodeError:
        raise _bad_mail(f"`{name}`: {shown!r} has a domain that cannot exist") from None
    return Address(address.display_name, address.username, domain)


def _check_line(name: str, text: str) -> None:
    kinds = {category(character) for character in text}
    # Zl and Zp are the line breaks that only Unicode knows; the mail library minds them too.
    if kinds & {"Cc", "Zl", "Zp"}:
        raise _bad_mail(f"`{name}` holds a line break or control character: remove it")
    if "Cs" in kinds:
        raise _bad_mail(f"`{name}` holds a lone surrogate, which no mail can carry")


def _bad_mail(message: str) -> RefusedError:
    return RefusedError(message, "SMTP_MAIL")
