"""`onward dev`: the API and the engine in one process, on one file."""

from __future__ import annotations

import logging
import signal
from typing import TYPE_CHECKING, Any

import click

from onward.cli import exit_codes, options
from onward.cli.options import examples, option
from onward.cli.output.durations import span
from onward.distribution import install_command

if TYPE_CHECKING:
    from onward.api.http.identity import Access
    from onward.api.server import Listener
    from onward.bootstrap.embedded import EmbeddedSettings
    from onward.runtime.backend import Backend

token_option = option(
    "--token",
    metavar="TOKEN",
    default=None,
    help="An admin token; every request must then be authenticated. It is required on an address"
    " that other machines can reach, until there are users or tokens.",
)
keep_audit_option = option(
    "--keep-audit",
    "audit_kept_ms",
    callback=span,
    metavar="SPAN",
    default="365d",
    show_default=True,
    help="Delete audit log entries that are older.",
)
keep_option = option(
    "--keep",
    "keep_ms",
    callback=span,
    metavar="SPAN",
    help="Delete runs that ended longer ago, such as 30d or 12h.  [default: never]",
)


@click.command(epilog=examples("onward dev", "onward dev --listen 127.0.0.1:9000 --db /tmp/try.db"))
@option(
    "--listen",
    metavar="HOST:PORT",
    default="127.0.0.1:8700",
    show_default=True,
    help="The address of the API; port 0 is any free port.",
)
@token_option
@keep_audit_option
@options.database
@keep_option
@options.slots
@options.env_file
@options.credential_store
@options.key_file
@options.allow
@options.events_sink
@options.lifecycle_events
@options.public_url
@options.log_level
def dev(listen: str, token: str | None, audit_kept_ms: int, log_level: str, **served: Any) -> int:
    """Serve the API and execute workflows in this process, until Ctrl-C or SIGTERM.

    Everything is stored in one file. Interrupted runs continue at once.
    """
    import asyncio

    from onward.bootstrap.embedded import EmbeddedSettings
    from onward.bootstrap.host import configure_log
    from onward.bootstrap.telemetry import check_sink
    from onward.cli.engines.engine import new_loop

    listener, access = api_address(listen, token, audit_kept_ms)
    options.check_env_file(served["env_file"])
    if served["lifecycle_events"]:
        check_sink(served["lifecycle_events"])
    settings = EmbeddedSettings(
        served["database"],
        served["slots"],
        served["env_file"],
        served["credential_store"],
        served["key_file"],
        served["events_sink"],
        served["allowed"],
        lifecycle_events=served["lifecycle_events"],
        public_url=served["public_url"] or listener.url,
    )
    configure_log(level=log_level)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_serve(settings, listener, access, served["keep_ms"]))
    return exit_codes.OK


def api_address(listen: str, token: str | None, audit_kept_ms: int) -> tuple[Listener, Access]:
    """Return a bound socket and who may use it; InputError when that is not possible."""
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


async def check_access(backend: Backend, listener: Listener, access: Access) -> None:
    """Raise InputError, and release the address, when no one could log in there."""
    try:
        anyone = await backend.access.accounts.anyone(backend.clock.now_ms())
        access.check(listener.host, anyone)
    except BaseException:
        listener.close()
        raise


async def _serve(
    settings: EmbeddedSettings, listener: Listener, access: Access, keep_ms: int | None
) -> None:
    import asyncio

    from onward.api.app import make_app
    from onward.bootstrap.embedded_backend import open_embedded_backend

    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    async with open_embedded_backend(settings, keep_ms=keep_ms) as backend:
        await check_access(backend, listener, access)
        file = settings.database
        logging.getLogger("onward").info("dev: %s, with runs in %s", listener.url, file)
        await listener.serve(make_app(backend, access), stopping)
    listener.close()
