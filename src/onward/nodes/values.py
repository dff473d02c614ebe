"""Parameters of the nodes that only make or show a value; the graph language carries them out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta


class Transform(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Build a value with jq from everything that is known so far; the output is that value."""

    expression: Annotated[str, Meta(min_length=1, description="a jq expression, braces optional")]


class Log(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Write a line to the log; the output is `{message, level}`."""

    message: Any = ""
    level: Literal["debug", "info", "warning", "error"] = "info"


class Noop(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Do nothing; the output is `{}`."""


class Fail(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fail, with a message and a code that a retry or an error edge can see."""

    message: str = "this node always fails"
    code: Annotated[str, Meta(min_length=1, max_length=100)] = "FAILED"
