"""weft: a workflow engine whose runs are never stuck, doubled or lost.

    from weft import Engine

    with Engine.embedded() as weft:            # or Engine.connect(url, token)
        print(weft.start(document, {"name": "Ada"}).result())

What is exported is loaded when it is first used, so that importing `weft` costs nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_CLIENT = (
    "ApiError",
    "AsyncEngine",
    "AsyncRun",
    "ConflictError",
    "DeniedError",
    "Engine",
    "InvalidError",
    "MissingError",
    "Run",
    "RunFailedError",
    "UnreachableError",
)
_ERRORS = ("DefinitionError", "InputError", "StorageError", "WeftError")


def __getattr__(name: str) -> Any:
    """Load what is exported, by name."""
    where = {**dict.fromkeys(_CLIENT, "weft.api.client"), **dict.fromkeys(_ERRORS, "weft.errors")}
    if name not in where:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    return getattr(import_module(where[name]), name)


def __dir__() -> list[str]:
    return ["__version__", *_CLIENT, *_ERRORS]
