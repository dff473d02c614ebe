"""Packages that only some calls need: brought in when such a call is made."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from onward.distribution import install_command

# -- How the parts of a node say that its parameters cannot be carried out.


class Refused(Exception):  # noqa: N818  (a verdict on the parameters, not a fault of the program)
    """The parameters do not make a request that may be sent; the node turns this into `Failed`."""

    def __init__(self, message: str, code: str) -> None:
        self.code = code
        super().__init__(message)


def optional(module: str, extra: str) -> Any:
    """Return a module; Refused, with the remedy, when the extra it comes with is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        message = f"this worker lacks a package for that: install it with {install_command(extra)}"
        raise Refused(message, "HTTP_REQUEST") from None
