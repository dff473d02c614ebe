"""Failures of nodes: parameters that make no request, packages that are not installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from onward.distribution import install_command
from onward.kernel.outcome import Failed, NodeError
from onward.ports.nodes.outside import OutsideError


class RefusedError(Exception):
    """The parameters do not make a request that may be sent; the node turns this into `Failed`."""

    def __init__(self, message: str, code: str) -> None:
        self.code = code
        super().__init__(message)


def bad_request(message: str) -> RefusedError:
    """Return the refusal of a request that cannot be built."""
    return RefusedError(message, "HTTP_REQUEST")


def failure_of(problem: RefusedError | OutsideError, where: str = "") -> Failed:
    """Return the outcome of a node; `where` names what could not be reached."""
    outside = where and isinstance(problem, OutsideError)
    return Failed(NodeError(f"{where}: {problem}" if outside else str(problem), problem.code))


def import_optional(module: str, extra: str) -> Any:
    """Return a module; RefusedError, with the remedy, when its extra is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise bad_request(
            f"this worker lacks a package for that: install it with {install_command(extra)}"
        ) from None
