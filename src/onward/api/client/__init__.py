"""The client of the API. What is public here is what `onward` itself exports."""

from onward.api.client.aio import AsyncEngine
from onward.api.client.failures import (
    ApiError,
    ConflictError,
    DeniedError,
    InvalidError,
    MissingError,
    RunFailedError,
    UnreachableError,
)
from onward.api.client.run import AsyncRun
from onward.api.client.sync import Engine, Run

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
