"""`onward dev`: the API and the engine in one process, on one file."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import TYPE_CHECKING, Any

import click

from onward.cli import options
from onward.cli.options import examples, option
from onward.cli.output.durations import span
from onward.distribution import install_command

if TYPE_CHECKING:
    from onward.api.http.identity import Access
    from onward.api.server import Listener
    from onward.bootstrap.settings import EmbeddedSettings
    from onward.runtime.backend import Backend

listen = option(
    "--listen",
    metavar="HOST:PORT",
    default="127.0.0.1:8700",
    show_default=True,
    help="Where the API answers; port 0 is any that is free.",
)
token = option(
    "--token",
    metavar="TOKEN",
    default=None,
    help="A token for an admin; everybody must then log in or show one. Where others than this"
    " machine can ask, it is needed until there are users or tokens.",
)
keep_audit = option(
    "--keep-audit",
    "audit_kept_ms",
    callback=span,
    metavar="SPAN",
    default="365d",
    show_default=True,
    help="Drop entries of the audit log that are older than this.",
)
_keep = option(
    "--keep",
    "keep_ms",
    callback=span,
    metavar="SPAN",
    help="Drop runs that ended longer ago than this, such as 30d. They are all kept unless given.",
)
_log_level = option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="The least important log line to show.",
)


@click.command(epilog=examples("onward dev", "onward dev --listen 127.0.0.1:9000 --db /tmp/try.db"))
@listen
@token
@keep_audit
@options.database
@_keep
@options.slots
@options.env_file
@options.credential_store
@options.key_file
@options.allow
@options.events_sink
@options.lifecycle_events
@options.public_url
@_log_level
def dev(listen: str, token: str | None, audit_kept_ms: int, log_level: str, **served: Any) -> int:
    """Serve the API and run workflows in this process, until Ctrl-C or SIGTERM.

    Everything is in one file. Runs that were interrupted go on at once.
    """
    from onward.bootstrap.host import configure_log
    from onward.bootstrap.settings import EmbeddedSettings
    from onward.bootstrap.telemetry import check_sink
    from onward.cli.engines.embedded import new_loop
    from onward.cli.options import check_env_file

    listener, access = address_of(listen, token, audit_kept_ms)
    check_env_file(served["env_file"])
    if served["lifecycle_events"]:
        check_sink(served["lifecycle_events"])
    settings = EmbeddedSettings(
        database=served["database"],
        slots=served["slots"],
        env_file=served["env_file"],
        credential_store=served["credential_store"],
        key_file=served["key_file"],
        events_sink=served["events_sink"],
        allowed=served["allowed"],
        lifecycle_events=served["lifecycle_events"],
        public_url=served["public_url"] or listener.url,
    )
    configure_log(level=log_level)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_serve(settings, listener, access, served["keep_ms"]))
    return 0


def address_of(listen: str, token: str | None, audit_kept_ms: int) -> tuple[Listener, Access]:
    """Return a bound socket and who may use it; InputError when that cannot be had."""
    from onward.errors import InputError

    try:
        from onward.api.http.identity import Access
        from onward.api.server import Listener, read_address
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in {"fastapi", "starlette", "uvicorn", "pydantic", "websockets"}:
            raise
        raise InputError(
            f"the API needs {package}, which is not installed: {install_command('server')}"
        ) from None
    host, port = read_address(listen)
    access = Access.of(host, token, audit_kept_ms)
    return Listener(host, port), access


async def check_entry(backend: Backend, listener: Listener, access: Access) -> None:
    """Raise InputError, and let go of the address, when nobody could enter there."""
    try:
        anyone = await backend.access.accounts.anyone(backend.clock.now_ms())
        access.check(listener.host, anyone)
    except BaseException:
        listener.close()
        raise


async def _serve(
    settings: EmbeddedSettings, listener: Listener, access: Access, keep_ms: int | None
) -> None:
    from onward.api.app import make_app
    from onward.bootstrap.embedded_backend import open_embedded_backend

    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    async with open_embedded_backend(settings, keep_ms=keep_ms) as backend:
        await check_entry(backend, listener, access)
        file = settings.database
        logging.getLogger("onward").info("dev: %s, with runs in %s", listener.url, file)
        await listener.serve(make_app(backend, access), stopping)
    listener.close()
