"""The two ways to an operation, over HTTP and inside the process: the same is taken and refused."""

from __future__ import annotations

import json

import pytest

from api.documents import chain
from api.service import API, embedded, serving
from onward.client.transports.in_process import LocalTransport

REQUESTS = [
    ("GET", "/runs", {}, None),
    ("GET", "/runs", {"limit": "0"}, None),
    ("GET", "/runs", {"limit": "many"}, None),
    ("GET", "/runs", {"status": "running,asleep"}, None),
    ("GET", "/runs", {"cursor": "nonsense"}, None),
    ("GET", "/runs/no-such-run", {}, None),
    ("GET", "/runs/a b", {}, None),
    ("POST", "/runs", {}, {"workflow_id": "nope\n"}),
    ("GET", "/runs/no-such-run/items", {}, None),
    ("GET", "/runs/no-such-run/events", {"after": "-1"}, None),
    ("POST", "/runs", {}, {}),
    ("POST", "/runs", {}, {"workflow_id": "nope"}),
    ("POST", "/runs", {}, {"workflow_id": 7}),
    ("POST", "/runs", {}, {"workflow_id": "nope", "priority": 6}),
    ("POST", "/runs", {}, {"nope": 1}),
    ("POST", "/runs", {}, {"definition": {"id": "x"}}),
    ("POST", "/runs:cancel", {}, {"filter": {}}),
    ("POST", "/runs:cancel", {}, {"filter": {"status": ["asleep"]}}),
    ("POST", "/workflows:validate", {}, {"definition": chain()}),
    ("POST", "/workflows/nope:publish", {}, {"version": 0}),
    ("GET", "/workflows/nope/versions", {}, None),
    ("POST", "/triggers", {}, {"workflow_id": "nope", "settings": {"kind": "cron"}}),
    ("POST", "/triggers", {}, {"workflow_id": "nope", "settings": {"kind": "never"}}),
    ("POST", "/triggers:preview", {}, {"settings": {"kind": "interval", "every_ms": 1000}}),
    ("GET", "/credentials", {}, None),
    ("GET", "/node-types/noop", {}, None),
    ("POST", "/quarantine:discard", {}, {"numbers": [0]}),
    ("GET", "/me", {}, None),
    ("GET", "/nothing", {}, None),
    ("PUT", "/runs", {}, {}),
]
VARYING = {"request_id", "detail", "errors", "times", "created_at", "changed_at"}
"""What differs from one request to the next, or is said in the words of the reader."""


@pytest.fixture
async def both(tmp_path):
    """Return a server and a transport on the same backend."""
    async with embedded(tmp_path) as backend, serving(backend) as service:
        yield service, LocalTransport(backend)


def facts(body: bytes) -> object:
    """Return what two answers must have in common."""
    value = json.loads(body) if body else None
    if isinstance(value, dict):
        return {name: part for name, part in value.items() if name not in VARYING}
    return value


async def test_a_request_is_answered_alike_over_http_and_inside_the_process(both):
    service, local = both
    for method, path, query, body in REQUESTS:
        data = None if body is None else json.dumps(body).encode()
        over_http = await service.client.request(
            method,
            API + path,
            params=query,
            content=data,
            headers={"content-type": "application/json"},
        )
        inside = await local.send(method, API + path, query, {}, data)

        request = f"{method} {path} {query} {body}"
        assert over_http.status_code == inside.status, request
        assert facts(over_http.content) == facts(inside.body), request


async def test_the_places_of_what_is_wrong_are_the_same(both):
    service, local = both
    body = {"filter": {"status": ["running", "asleep"]}}
    over_http = (await service.post("/runs:cancel", body)).json()
    inside = json.loads(
        (await local.send("POST", f"{API}/runs:cancel", {}, {}, json.dumps(body).encode())).body
    )

    assert ["/filter/status/1"] == [place["pointer"] for place in over_http["errors"]]
    assert ["/filter/status/1"] == [place["pointer"] for place in inside["errors"]]
