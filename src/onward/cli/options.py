"""Options that several commands share, and what all options have in common.

Every option has an environment variable, `ONWARD_` and its name, which is used when the option is
not given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from onward.errors import InputError

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

DEFAULT_DATABASE = Path(".onward/onward.db")
DEFAULT_KEY = Path(".onward/key")
DEFAULT_STORE = Path(".onward/credentials.json")
LOG_LEVELS = ["debug", "info", "warning", "error"]


def option(name: str, *more: str, **settings: Any) -> Decorator:
    """Return a click option with its environment variable."""
    variable = "ONWARD_" + name.lstrip("-").replace("-", "_").upper()
    settings.setdefault("envvar", variable)
    return click.option(name, *more, show_envvar=True, **settings)


def combine(*decorators: Decorator) -> Decorator:
    """Return one decorator that adds several options, which help lists in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return add


def examples(*lines: str) -> str:
    """Return the end of a help text: commands to try."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def address(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, int] | None:
    """Return the host and port of `PORT` (on this machine only) or `HOST:PORT`."""
    if value is None:
        return None
    host, _colon, port = value.rpartition(":")
    if not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535:
        raise click.BadParameter(f"{value!r} is not [HOST:]PORT, such as 9464 or 0.0.0.0:9464")
    return host.strip("[]") or "127.0.0.1", int(port)


def path(*, directories: bool = False) -> click.Path:
    """Return the type of an option that names a file, which need not exist."""
    return click.Path(dir_okay=directories, path_type=Path)


def default_key_file() -> Path:
    """Return the key file that commands without `--key-file` share with `onward dev`."""
    return Path(os.environ.get("ONWARD_KEY_FILE") or DEFAULT_KEY)


def check_env_file(file: Path | None) -> None:
    """Raise InputError for an `--env-file` that does not exist."""
    if file is not None and not file.is_file():
        raise InputError(f"--env-file {file}: there is no such file")


# -- single options --------------------------------------------------------------------------------


def _process_kinds(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    from onward.ports.nodes.commands import COMMAND_KINDS

    kinds = tuple(kind.strip() for kind in (value or "").split(",") if kind.strip())
    unknown = [kind for kind in kinds if kind not in COMMAND_KINDS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is not one of {', '.join(COMMAND_KINDS)}")
    return kinds


def _web_address(_: click.Context, __: click.Parameter, value: str) -> str:
    if value and not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", value):
        raise click.BadParameter(f"{value!r} is not a URL such as https://onward.example")
    return value.rstrip("/")


def _identifier(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", value):
        raise click.BadParameter("letters, digits, _ and - only, 128 at most")
    return value


database = option(
    "--db",
    "database",
    type=path(),
    default=DEFAULT_DATABASE,
    show_default=True,
    help="The database file of the runs.",
)
as_json = option("--json", "as_json", is_flag=True, help="Print JSON.")
events = option(
    "--events",
    metavar="FILE",
    help="Append every status and completion message to FILE, one JSON object per line;"
    " - is standard output.",
)
slots = option(
    "--slots",
    type=click.IntRange(1, 100_000),
    default=64,
    show_default=True,
    help="How many nodes may do their work at once.",
)
env_file = option(
    "--env-file", type=path(), help="A file of NAME=value lines with credentials.", default=None
)
credential_store = option(
    "--credential-store",
    type=path(),
    default=DEFAULT_STORE,
    show_default=True,
    help="The encrypted file of `onward credentials`.",
)
key_file = option(
    "--key-file",
    type=path(),
    default=DEFAULT_KEY,
    show_default=True,
    help="The encryption key; ONWARD_KEY takes precedence.",
)
allow = option(
    "--allow",
    "allowed",
    callback=_process_kinds,
    metavar="KIND,...",
    help="The processes that tasks may start: shell, script, container, mcp.  [default: none]",
)
lifecycle_events = option(
    "--lifecycle-events",
    metavar="URL",
    default="",
    help="Post the lifecycle events of the Serverless Workflow DSL to this URL, or append them to"
    " file:PATH.  [default: off]",
)
events_sink = option(
    "--events-sink",
    metavar="URL",
    default="",
    help="Also post every event that runs emit to this URL, as a CloudEvent.",
)
public_url = option(
    "--public-url",
    metavar="URL",
    default="",
    callback=_web_address,
    help="The public URL of the API: the links that nodes create begin with it.",
)
quiet = option("--quiet", "-q", is_flag=True, help="No drawing and no summary, only problems.")
verbose = option("--verbose", "-v", is_flag=True, help="Print a line for every finished node.")
log_level = option(
    "--log-level",
    type=click.Choice(LOG_LEVELS),
    default="info",
    show_default=True,
    help="The lowest level of log lines to show.",
)
execution_id = option(
    "--id", "execution_id", callback=_identifier, help="The id of the new run.  [default: made up]"
)
limit = option(
    "--limit", type=click.IntRange(1), default=50, show_default=True, help="How many to list."
)
wait = option("--wait", is_flag=True, help="Wait for the end of the run and print its output.")
timeout = option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="How long to wait; the run itself continues.  [default: until it ends]",
)


def idempotency_key(help_text: str) -> Decorator:
    """
    Return `--key`; its variable is not ONWARD_KEY, which seals credentials and must stay secret.
    """
    return option("--key", envvar="ONWARD_IDEMPOTENCY_KEY", metavar="TEXT", help=help_text)


# -- options that belong together ------------------------------------------------------------------


def value(help_text: str, *, required: bool = False) -> Decorator:
    """Add `--input` and `-i`, which give a value whole or key by key: the command gets `value`.

    Without either it is None, or `{}` for a `required` value.
    """
    whole_option = option("--input", "whole", metavar="JSON|@FILE|-", help=help_text)
    pairs_option = click.option(
        "-i",
        "pairs",
        multiple=True,
        metavar="KEY=TEXT|KEY:=JSON",
        help="Set one key of it; may be repeated.",
    )

    def add(command: Callable[..., int]) -> Callable[..., int]:
        @wraps(command)
        def run(*, whole: str | None, pairs: tuple[str, ...], **given: Any) -> int:
            from onward.cli.input.run_input import read_run_input

            named = required or whole is not None or bool(pairs)
            return command(value=read_run_input(whole, pairs) if named else None, **given)

        return whole_option(pairs_option(run))

    return add


run_input = value("The input of the run.  [default: {}]", required=True)
file_argument = click.argument("file", type=click.Path(path_type=Path))
new_run = combine(run_input, execution_id)
"""The input and the id of a run to start."""
serving = combine(
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
    option(
        "--log-level",
        type=click.Choice(LOG_LEVELS),
        default=None,
        help="The lowest level of log lines to show.  [default: info; with --quiet: warning]",
    ),
)
"""The options of a command that executes runs in its own process."""
