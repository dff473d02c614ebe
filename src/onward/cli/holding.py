"""How a worker holds its messages: the options of that, which are settings by the same names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from onward.cli.options import option

F = TypeVar("F", bound=Callable[..., Any])

_NAME = r"[\w.:@-]{1,100}"


def _name(_: click.Context, __: click.Parameter, value: str) -> str:
    import re

    if value and not re.fullmatch(_NAME, value):
        raise click.BadParameter(
            f"{value!r} is no name: letters, digits and . : @ _ - only, 100 at most"
        )
    return value


_worker_name = option(
    "--name",
    default="",
    metavar="NAME",
    callback=_name,
    help="What the worker is called.  [default: its host, process and four random characters]",
)
_early_ack = option(
    "--early-ack",
    "early_ack_s",
    type=click.FloatRange(0, min_open=True),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="A node that runs longer is held by a lease instead of by its message.",
)
_lease = option(
    "--lease",
    "lease_s",
    type=click.FloatRange(0.5),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="How long after a worker has died its long nodes are run again.",
)
max_memory = option(
    "--max-memory",
    "max_memory_mb",
    type=click.IntRange(1),
    metavar="MB",
    help="Stop, to be started again, when the process has become larger than this.",
)


def holding(command: F) -> F:
    """Add the options."""
    for add in reversed((_worker_name, _early_ack, _lease)):
        command = add(command)
    return command
