"""Serving the application: one uvicorn server inside the event loop of the process."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from onward.errors import InputError

GRACE_S = 3
"""How long open requests may take when the server stops; streams are simply ended."""
CONNECTIONS = 5_000


class Listener:
    """A socket that is bound before its address is announced."""

    def __init__(self, host: str, port: int) -> None:
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._socket = socket.create_server((host, port), family=family)
        except OSError as problem:
            why = problem.strerror or str(problem)
            raise InputError(
                f"cannot listen on {host}:{port}: {why}; choose another port"
            ) from None
        self.host = host
        self.port: int = self._socket.getsockname()[1]

    @property
    def url(self) -> str:
        """Return where a browser finds it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    async def serve(self, app: FastAPI, stopping: asyncio.Event) -> None:
        """Serve until the event is set; open streams end then."""
        server = _Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=GRACE_S,
                limit_concurrency=CONNECTIONS,
                ws="websockets-sansio",
                ws_max_size=64 * 1024,  # nothing a client sends on our sockets is read
                lifespan="off",
            )
        )
        # A copy: the server closes what it is given, and may be started again.
        serving = asyncio.create_task(server.serve(sockets=[self._socket.dup()]))
        waiting = asyncio.create_task(stopping.wait())
        try:
            await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            server.should_exit = True
            await serving


class _Server(uvicorn.Server):
    """A server that leaves signals to the process it is part of."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def read_address(text: str) -> tuple[str, int]:
    """Return the host and port of `HOST:PORT` or `PORT`; InputError when it is neither."""
    host, colon, port = text.rpartition(":")
    host = (host if colon else "127.0.0.1").strip("[]") or "127.0.0.1"
    if not (port.isdecimal() and int(port) <= 65535):
        raise InputError(f"{text!r} is no address: write HOST:PORT, or a port alone")
    if host != "localhost":
        try:
            ipaddress.ip_address(host)
        except ValueError:
            raise InputError(
                f"{host!r} is no address of this machine: write an IP address, such as 127.0.0.1"
            ) from None
    return host, int(port)
