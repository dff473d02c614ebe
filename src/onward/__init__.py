"""onward: a workflow engine whose runs are never stuck, doubled or lost.

    from onward import Engine

    with Engine.embedded() as onward:            # or Engine.connect(url, token)
        print(onward.start(document, {"name": "Ada"}).result())

What is exported is loaded when it is first used, so that importing `onward` costs nothing.
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
_ERRORS = ("DefinitionError", "InputError", "StorageError", "OnwardError")


def __getattr__(name: str) -> Any:
    """Load what is exported, by name."""
    where = {
        **dict.fromkeys(_CLIENT, "onward.client"),
        **dict.fromkeys(_ERRORS, "onward.errors"),
    }
    if name not in where:
        raise AttributeError(f"module 'onward' has no attribute {name!r}")
    return getattr(import_module(where[name]), name)


def __dir__() -> list[str]:
    return ["__version__", *_CLIENT, *_ERRORS]
