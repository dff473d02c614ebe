"""The types of credentials: which fields each has, which of them must be given."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a type."""

    name: str
    title: str
    required: bool = True
    secret: bool = False
    values: tuple[str, ...] = ()
    """The only values it may have; none: any text."""


class CredentialType(msgspec.Struct, frozen=True, kw_only=True):
    """What a credential of this type is made of."""

    name: str
    title: str
    fields: tuple[Field, ...]
    open: bool = False
    """Whether it may have other fields too."""
    trial: str = ""
    """How it can be tested: `http`, `smtp`, or "": not at all."""


_PASSWORD = Field(name="password", title="Password", secret=True)

TYPES = {
    credential_type.name: credential_type
    for credential_type in (
        CredentialType(
            name="http_basic",
            title="HTTP: user name and password",
            fields=(Field(name="username", title="User name"), _PASSWORD),
            trial="http",
        ),
        CredentialType(
            name="http_bearer",
            title="HTTP: bearer token",
            fields=(Field(name="token", title="Token", secret=True),),
            trial="http",
        ),
        CredentialType(
            name="http_header",
            title="HTTP: a header, such as an API key",
            fields=(
                Field(name="header", title="Header"),
                Field(name="value", title="Value", secret=True),
            ),
            trial="http",
        ),
        CredentialType(
            name="smtp",
            title="Mail server",
            fields=(
                Field(name="host", title="Host"),
                Field(name="port", title="Port", required=False),
                Field(name="tls", title="TLS", required=False, values=("none", "starttls", "tls")),
                Field(
                    name="verify_tls",
                    title="Check the certificate",
                    required=False,
                    values=("true", "false"),
                ),
                Field(name="username", title="User name", required=False),
                msgspec.structs.replace(_PASSWORD, required=False),
                Field(name="from", title="Sender", required=False),
            ),
            trial="smtp",
        ),
        CredentialType(name="generic", title="Any fields", fields=(), open=True),
    )
}


def faults(kind: CredentialType, fields: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what is wrong with fields of a type: the field's name and the problem, no values."""
    known = {field.name: field for field in kind.fields}
    found = [
        (field.name, "it is missing")
        for field in kind.fields
        if field.required and not fields.get(field.name)
    ]
    for name, value in fields.items():
        if name not in known:
            if not kind.open:
                has = ", ".join(known)
                found.append((name, f"{kind.name} has no such field: it has {has}"))
        elif known[name].values and value not in known[name].values:
            found.append((name, f"it must be one of {', '.join(known[name].values)}"))
    if kind.name == "smtp":
        port = fields.get("port", "25")
        if not (port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) < 65_536):
            found.append(("port", "it must be a number from 1 to 65535"))
        if ("username" in fields) != ("password" in fields):
            found.append(("username", "user name and password go together: give both or neither"))
    if kind.open and not fields:
        found.append(("", "give at least one field"))
    return found
