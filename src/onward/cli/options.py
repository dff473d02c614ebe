"""Options that several commands share, and what is common to all options.

Every option has a twin in the environment, `ONWARD_` and its name, used when the option is not
given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from onward.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])
Decorator = Callable[[F], F]

DEFAULT_DATABASE = Path(".onward/onward.db")
DEFAULT_KEY = Path(".onward/key")


def option(name: str, *more: str, **settings: Any) -> Decorator[Any]:
    """Return a click option with its twin in the environment."""
    twin = "ONWARD_" + name.lstrip("-").replace("-", "_").upper()
    settings.setdefault("envvar", twin)
    return click.option(name, *more, show_envvar=True, **settings)


def examples(*lines: str) -> str:
    """Return the end of a help text: commands to try."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def address(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, int] | None:
    """Return the host and port of `PORT` (of this machine alone) or `HOST:PORT`."""
    if value is None:
        return None
    host, _colon, port = value.rpartition(":")
    if not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535:
        raise click.BadParameter(f"{value!r} is no [HOST:]PORT, such as 9464 or 0.0.0.0:9464")
    return host.strip("[]") or "127.0.0.1", int(port)


def path(*, directories: bool = False) -> click.Path:
    """Return the type of an option that names a file, which need not exist."""
    return click.Path(dir_okay=directories, path_type=Path)


database = option(
    "--db",
    "database",
    type=path(),
    default=DEFAULT_DATABASE,
    show_default=True,
    help="The file that keeps the runs.",
)
as_json = option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
events = option(
    "--events",
    metavar="FILE",
    help="Append every status and completion message to FILE, one JSON object to a line."
    " With - they are the standard output.",
)
slots = option(
    "--slots",
    type=click.IntRange(1, 100_000),
    default=64,
    show_default=True,
    help="How many nodes may touch the world at once.",
)
env_file = option(
    "--env-file", type=path(), help="A file of NAME=value lines with credentials.", default=None
)
credential_store = option(
    "--credential-store",
    type=path(),
    default=Path(".onward/credentials.json"),
    show_default=True,
    help="The encrypted store of `onward credentials`.",
)
key_file = option(
    "--key-file",
    type=path(),
    default=DEFAULT_KEY,
    show_default=True,
    help="The key of the store; ONWARD_KEY, when set, is used instead.",
)


def _kinds(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    from onward.ports.nodes.commands import COMMAND_KINDS

    named = tuple(one.strip() for one in (value or "").split(",") if one.strip())
    unknown = [one for one in named if one not in COMMAND_KINDS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(COMMAND_KINDS)}")
    return named


allow = option(
    "--allow",
    "allowed",
    callback=_kinds,
    metavar="KIND,...",
    help="Let tasks start processes here: shell, script, container, mcp.  [default: none]",
)
lifecycle_events = option(
    "--lifecycle-events",
    metavar="URL",
    default="",
    help="Post the lifecycle events of the Serverless Workflow DSL here, or add them to file:PATH."
    "  [default: nowhere]",
)
events_sink = option(
    "--events-sink",
    metavar="URL",
    default="",
    help="Post every event that runs emit there too, as a CloudEvent.",
)


def _web_address(_: click.Context, __: click.Parameter, value: str) -> str:
    if value and not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", value):
        raise click.BadParameter(f"{value!r} is no address, such as https://onward.example")
    return value.rstrip("/")


public_url = option(
    "--public-url",
    metavar="URL",
    default="",
    callback=_web_address,
    help="Where people reach the API: the links that nodes hand out begin with it.",
)
quiet = option("--quiet", "-q", is_flag=True, help="No drawing and no summary, only problems.")
verbose = option("--verbose", "-v", is_flag=True, help="A line for every node that has finished.")
log_level = option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default=None,
    help="The least important log line to show.  [default: info; with --quiet: warning]",
)


def _identifier(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", value):
        raise click.BadParameter("letters, digits, _ and - only, 128 at most")
    return value


def value(help_text: str) -> Decorator[Any]:
    """Return `--input` and `-i`, which say a value together: whole, or key by key."""
    whole = option("--input", "whole", metavar="JSON|@FILE|-", help=help_text)
    return lambda command: whole(_pairs(command))


def idempotency_key(help_text: str) -> Decorator[Any]:
    """
    Return `--key`; its twin is not ONWARD_KEY, which seals credentials and is shown to nobody.
    """
    return option("--key", envvar="ONWARD_IDEMPOTENCY_KEY", metavar="TEXT", help=help_text)


_file = click.argument("file", type=click.Path(path_type=Path))
_pairs = click.option(
    "-i",
    "pairs",
    multiple=True,
    metavar="KEY=TEXT|KEY:=JSON",
    help="Set one key of the input; may be repeated.",
)
execution_id = option(
    "--id", "execution_id", callback=_identifier, help="The run's id; it must be new."
)


def key_file_of_this_place() -> Path:
    """Return the key file that commands without `--key-file` share with `onward dev`."""
    return Path(os.environ.get("ONWARD_KEY_FILE") or DEFAULT_KEY)


def check_env_file(file: Path | None) -> None:
    """Raise InputError for an `--env-file` that is not there."""
    if file is not None and not file.is_file():
        raise InputError(f"--env-file {file}: there is no such file")


def given(command: F) -> F:
    """Add the input and the id of a run."""
    added: F = value("The input of the run.  [default: {}]")(execution_id(command))
    return added


def starting(command: F) -> F:
    """Add what a command takes that starts a run: the file, the input and the id."""
    started: F = _file(given(command))
    return started


def serving(command: F) -> F:
    """Add the options of a command that serves runs."""
    for add in reversed(
        (
            database,
            as_json,
            events,
            slots,
            env_file,
            credential_store,
            key_file,
            allow,
            events_sink,
            public_url,
            quiet,
            verbose,
            log_level,
        )
    ):
        command = add(command)
    return command
