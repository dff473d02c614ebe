"""Opening an engine inside the process, behind the same application that a server serves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from onward.api.client.inside import AsgiTransport
from onward.bootstrap import Settings
from onward.bootstrap.dev import open_embedded_backend
from onward.bootstrap.onlooking import open_for_one, open_onlooker
from onward.distribution import install_command
from onward.errors import InputError

if TYPE_CHECKING:
    from onward.runtime.backend import Backend


@asynccontextmanager
async def open_inside(
    database: Path,
    slots: int,
    env_file: Path | None = None,
    credential_store: Path | None = None,
    key_file: Path | None = None,
) -> AsyncIterator[AsgiTransport]:
    """Start an engine on a file; its unfinished runs go on."""
    settings = Settings(database, slots, env_file, credential_store, key_file)
    async with open_embedded_backend(settings) as backend:
        transport = transport_to(backend)
        try:
            yield transport
        finally:
            await transport.close()


def transport_to(backend: Backend) -> AsgiTransport:
    """Return a transport to the API of a backend; InputError when what it needs is missing."""
    try:
        from onward.api.access import Access  # noqa: PLC0415
        from onward.api.app import make_app  # noqa: PLC0415  (an extra: it may be missing)
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in {"fastapi", "starlette", "pydantic"}:
            raise
        raise InputError(
            f"an embedded engine needs {package}, which is not installed:"
            f" {install_command('server')}"
        ) from None
    return AsgiTransport(make_app(backend, Access()))


@asynccontextmanager
async def open_file(settings: Settings, *, create: bool = False) -> AsyncIterator[AsgiTransport]:
    """Look at a file, also while another process runs the workflows in it; nothing is run here."""
    async with open_onlooker(settings, create=create) as backend:
        transport = transport_to(backend)
        try:
            yield transport
        finally:
            await transport.close()


@asynccontextmanager
async def open_run(settings: Settings, run: str | None) -> AsyncIterator[AsgiTransport]:
    """Run only what is started, or one run of a file that nobody serves."""
    async with open_for_one(settings, run) as backend:
        transport = transport_to(backend)
        try:
            yield transport
        finally:
            await transport.close()
