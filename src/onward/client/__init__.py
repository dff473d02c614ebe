"""The client of the API. What is public here is what `onward` itself exports."""

from onward.client.async_engine import AsyncEngine
from onward.client.async_run import AsyncRun
from onward.client.engine import Engine, Run
from onward.client.errors import (
    ApiError,
    ConflictError,
    DeniedError,
    InvalidError,
    MissingError,
    RunFailedError,
    UnreachableError,
)

__all__ = [
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
]
