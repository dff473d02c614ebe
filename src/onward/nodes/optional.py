"""Packages that only some calls need: brought in when such a call is made."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from onward.distribution import install_command
from onward.nodes.refused import Refused


def optional(module: str, extra: str) -> Any:
    """Return a module; Refused, with the remedy, when the extra it comes with is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        message = f"this worker lacks a package for that: install it with {install_command(extra)}"
        raise Refused(message, "HTTP_REQUEST") from None
