"""The address of a broker, and in plain words why it cannot be reached. Never the password."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pika  # type: ignore[import-untyped]  # carries no py.typed
from pika.exceptions import (  # type: ignore[import-untyped]  # as above
    AuthenticationError,
    ConnectionClosedByBroker,
    IncompatibleProtocolError,
    ProbableAccessDeniedError,
    ProbableAuthenticationError,
)

from onward.ports.cluster.bus import BusError, BusUnavailableError

CONNECT_TIMEOUT_S = 15
HEARTBEAT_S = 20
_EXAMPLE = "amqp://user:password@host:5672/vhost"


@dataclass(frozen=True, slots=True)
class Address:
    """A broker's URL, read and checked."""

    host: str
    port: int
    user: str
    virtual_host: str
    parameters: Any
    """What the client library connects with."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port} (virtual host {self.virtual_host})"


def read_address(url: str) -> Address:
    """Return the address that `url` names; raise BusError for one that names none."""
    try:
        parts = urlsplit(url)
        port = parts.port or (5671 if parts.scheme == "amqps" else 5672)
    except ValueError as problem:
        raise BusError(f"the RabbitMQ URL is wrong: {problem}; write {_EXAMPLE}") from None
    if parts.scheme not in {"amqp", "amqps"} or not parts.hostname:
        found = f"{parts.scheme}://" if parts.scheme else "no scheme"
        raise BusError(
            f"the RabbitMQ URL must begin with amqp:// or amqps:// and name a host, found {found}; "
            f"write {_EXAMPLE}"
        )
    try:
        parameters = pika.URLParameters(url)
    except Exception as problem:  # the library raises whatever its parsing of options meets
        raise BusError(f"the RabbitMQ URL has a wrong option: {problem}") from None
    if "heartbeat" not in parse_qs(parts.query):
        parameters.heartbeat = HEARTBEAT_S
    parameters.connection_attempts = 1
    parameters.socket_timeout = CONNECT_TIMEOUT_S
    parameters.stack_timeout = CONNECT_TIMEOUT_S
    return Address(
        host=parts.hostname,
        port=port,
        user=unquote(parts.username or "guest"),
        virtual_host=str(parameters.virtual_host),
        parameters=parameters,
    )


def unreachable(address: Address, problem: BaseException) -> BusError:
    """Return the error that says why `address` cannot be reached, and what to do.

    It is a BusUnavailableError unless a user must correct something first.
    """
    place = f"{address.host}:{address.port}"
    for cause in _causes(problem):
        match cause:
            # The library keeps only the words of a refusal in what it calls probable.
            case ProbableAuthenticationError() if "(403)" in str(cause):
                return BusError(_denied(address))
            case AuthenticationError():
                return BusError(_denied(address))
            case ConnectionClosedByBroker(reply_code=403):
                return BusError(_denied(address))
            case ProbableAccessDeniedError() if "(530)" in str(cause):
                return BusError(_not_there(address))
            case ConnectionClosedByBroker(reply_code=530):
                return BusError(_not_there(address))
            case (
                IncompatibleProtocolError()
                | ProbableAuthenticationError()
                | ProbableAccessDeniedError()
            ):
                # A broker that refuses says so (the cases above). This one only hung up: so does
                # one that is just starting or stopping, or a balancer in front of it.
                return BusUnavailableError(
                    f"RabbitMQ at {place} hung up in the middle of the greeting: it is starting or "
                    "stopping, or it does not speak AMQP 0-9-1 (its port is 5672, or 5671 for "
                    "amqps)"
                )
            case ssl.SSLError():
                return BusError(
                    f"RabbitMQ at {place}: TLS failed ({cause.reason or cause}); check the "
                    "certificate and that the port is the one for amqps"
                )
            case ConnectionRefusedError():
                return BusUnavailableError(
                    f"RabbitMQ at {place} refused the connection; start the broker, or correct "
                    "the URL"
                )
            case socket.gaierror():
                return BusUnavailableError(
                    f"RabbitMQ: the host {address.host!r} is not known; correct the URL"
                )
            case TimeoutError():
                return BusUnavailableError(
                    f"RabbitMQ at {place} did not answer within {CONNECT_TIMEOUT_S} s; check the "
                    "host, the port and the firewall"
                )
    *_, last = _causes(problem)
    return BusUnavailableError(
        f"RabbitMQ at {place} cannot be reached: {last or type(last).__name__}; check that the "
        "broker runs and the URL is right"
    )


def _denied(address: Address) -> str:
    return (
        f"RabbitMQ at {address.host}:{address.port} denied user {address.user!r}: the user or "
        "password in the URL is wrong, or the user may not log in from here (guest may only from "
        "the broker's own host); correct the URL"
    )


def _not_there(address: Address) -> str:
    return (
        f"RabbitMQ at {address.host}:{address.port}: virtual host {address.virtual_host!r} does not"
        f" exist, or user {address.user!r} may not use it; `rabbitmqctl add_vhost` and "
        "`rabbitmqctl set_permissions` make it so"
    )


def _causes(problem: BaseException) -> Iterator[BaseException]:
    """Iterate over a problem and all the causes that the client library has wrapped in it."""
    yield problem
    inner = [*getattr(problem, "exceptions", ()), getattr(problem, "exception", None)]
    for cause in (*inner, *problem.args):
        if isinstance(cause, BaseException):
            yield from _causes(cause)
