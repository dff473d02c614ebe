"""Whether the caller may do what is asked: decided from the table of permissions."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request, WebSocketException
from starlette.requests import HTTPConnection

from onward.api.http.middleware import client_of
from onward.api.routing.permissions import Permission, permission_of
from onward.api.routing.refusals import RequestRefusedError, too_many_requests
from onward.ports.security.accounts import RANK
from onward.runtime.backend import Backend
from onward.runtime.security.audit import current
from onward.runtime.security.rate_limit import Buckets

Authorise = Callable[[HTTPConnection], Awaitable[None]]


def authoriser(backend: Backend) -> Authorise:
    """Return what every route depends on: it raises unless the operation is permitted."""
    limits = {
        "login": Buckets(backend.clock, burst=10, per_s=1 / 6),
        "links": Buckets(backend.clock, burst=60, per_s=1),
        "public": Buckets(backend.clock, burst=200, per_s=100),
    }

    async def authorise(connection: HTTPConnection) -> None:
        operation = connection.scope["route"].name
        permission = permission_of(operation)
        try:
            if permission.role is not None:
                await _check(connection, operation, permission, backend)
            if permission.limit != "none":
                _check_rate(limits[permission.limit], connection)
        except RequestRefusedError as refused:
            if connection.scope["type"] == "websocket":
                raise WebSocketException(1008, refused.code) from None
            raise
        record = current()
        if record is not None and permission.audited:
            record.action = operation
            record.target = connection.url.path

    return authorise


async def _check(
    connection: HTTPConnection, operation: str, permission: Permission, backend: Backend
) -> None:
    who = connection.scope["onward.who"]
    if isinstance(who, RequestRefusedError):
        raise who
    needed = permission.role or "viewer"
    if RANK[who.role] < RANK[needed]:
        raise RequestRefusedError(
            403, "FORBIDDEN", f"{operation} is for the role {needed}, and you are {who.role}"
        )
    if who.workflows is not None:
        touched = await _touched(connection, permission, backend)
        if touched is not None and touched not in who.workflows:
            raise RequestRefusedError(
                403, "OUT_OF_SCOPE", f"this token is for {', '.join(who.workflows)} alone"
            )


async def _touched(
    connection: HTTPConnection, permission: Permission, backend: Backend
) -> str | None:
    """Return the workflow that is touched, "" for any of them, None for none."""
    match permission.reach:
        case "nothing":
            return None
        case "workflow":
            return str(connection.path_params.get("workflow_id", ""))
        case "run":
            return await _of_run(backend, connection.path_params.get("execution_id"))
        case "trigger":
            return await _of_trigger(backend, connection.path_params.get("trigger_id"))
        case "query":
            return connection.query_params.get("workflow_id", "")
        case "start":
            given = await _body(connection)
            return str(given.get("workflow_id") or "") if "definition" not in given else ""
        case "evaluate":
            run = (await _body(connection)).get("execution_id")
            return None if run is None else await _of_run(backend, run)
        case "everything":
            return ""


async def _of_run(backend: Backend, execution_id: Any) -> str:
    run = await backend.archive.run(execution_id) if isinstance(execution_id, str) else None
    return run.workflow_id if run is not None else ""


async def _of_trigger(backend: Backend, trigger_id: Any) -> str:
    found = await backend.triggers.trigger(trigger_id) if isinstance(trigger_id, str) else None
    return found.workflow_id if found is not None else ""


async def _body(connection: HTTPConnection) -> dict[str, Any]:
    given = await connection.json() if isinstance(connection, Request) else None
    return given if isinstance(given, dict) else {}


def _check_rate(buckets: Buckets, connection: HTTPConnection) -> None:
    wait_s = buckets.take(_crowd(client_of(connection.scope)))
    if wait_s:
        raise too_many_requests(wait_s)


def _crowd(address: str) -> str:
    """Return whom an address stands for: of IPv6 the network, since one machine has all of it."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 4:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False))
