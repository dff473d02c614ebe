"""The client of the API. What is public here is what `onward` itself exports.

    async_engine, async_run    an engine and a run, for coroutines: what there is to call
    engine                     the same, made into methods that wait (`loop_thread`)
    requests, event_stream     asking a route, reading pages, following a stream that may break
    values, errors             what is answered, and why it is refused
    transports                 over HTTP, or to the engine in this process

A client needs no package beyond the base install, neither for a server nor embedded.
"""

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
