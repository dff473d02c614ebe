"""The ports that nodes call: HTTP, mail, the log, and runs of other workflows.

Adapters raise nothing else for what the other side does: a refused connection, a time-out or a
protocol error is an `OutsideError` with a code that a retry policy can match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from onward.errors import OnwardError


class OutsideError(OnwardError):
    """The other side could not be reached, or violated its protocol."""

    def __init__(self, message: str, code: str) -> None:
        self.code = code
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """One request, already encoded."""

    method: str
    url: str
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    timeout_s: float = 30.0
    verify_tls: bool = True
    follow_redirects: bool = True
    max_bytes: int = 10 * 1024 * 1024
    linger_s: float | None = None
    """How long to read the body: of one that has no end, what was read by then is the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """One response, read whole and no larger than the request allowed.

    Of a body that had not ended when the time to read it was over, it is the beginning.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    duration_ms: int = 0
    """From sending the first byte of the request to reading the last of the answer."""


class Http(Protocol):
    """A pooled HTTP client."""

    async def send(self, request: HttpRequest) -> HttpAnswer:
        """Send and read the whole answer.

        Raises OutsideError with code HTTP_TIMEOUT, HTTP_CONNECT, HTTP_TLS, HTTP_TOO_LARGE,
        HTTP_REDIRECTS or HTTP_PROTOCOL. A status of 400 or more is an answer, not an error.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """An SMTP server, and the login. `tls`: "none", "starttls" or "tls" (from the first byte)."""

    host: str
    port: int
    tls: str = "starttls"
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    verify_tls: bool = True
    timeout_s: float = 30.0


class Mail(Protocol):
    """Sends messages through an SMTP server."""

    async def send(
        self, server: MailServer, sender: str, recipients: Sequence[str], message: bytes
    ) -> Sequence[str]:
        """Deliver `message` and return the recipients that were accepted.

        Raises OutsideError with code SMTP_CONNECT, SMTP_TLS, SMTP_AUTH, SMTP_REFUSED (no recipient
        was accepted, or the message was rejected) or SMTP_TIMEOUT.
        """
        ...


class Greeter(Protocol):
    """Checks whether a mail server accepts a login."""

    async def greet(self, server: MailServer) -> None:
        """Connect, log in and disconnect; raises OutsideError like `Mail.send`."""
        ...


class Log(Protocol):
    """The structured log. Values are redacted before they are written."""

    def write(self, level: str, message: str, **fields: object) -> None:
        """Write one line at `level` ("debug", "info", "warning" or "error")."""
        ...


class Runs(Protocol):
    """Starting runs of other workflows."""

    async def start(
        self, workflow_id: str, version: int | str | None, given: object, *, waits: bool
    ) -> str:
        """Start a run, or find the one that was started before, and return its id.

        A version is a number, None for the published one, or a text: what the document calls it.
        Raises OutsideError with code NO_WORKFLOW or TOO_DEEP.
        """
        ...


class _NoRuns:
    async def start(
        self, workflow_id: str, version: int | str | None, given: object, *, waits: bool
    ) -> str:
        raise OutsideError(f"nothing can start workflow {workflow_id} here", "NO_WORKFLOW")


NO_RUNS: Runs = _NoRuns()
"""Refuses every workflow."""
