"""The client of the API. What is public here is what `weft` itself exports."""

from weft.api.client.aio import AsyncEngine
from weft.api.client.failures import (
    ApiError,
    ConflictError,
    DeniedError,
    InvalidError,
    MissingError,
    RunFailedError,
    UnreachableError,
)
from weft.api.client.run import AsyncRun
from weft.api.client.sync import Engine, Run

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
