"""Every route for every role, for nobody, and for tokens that count no more.

The matrix is made from the description, so a route that is in no table of permissions fails here.
"""

import re

import pytest
from starlette.routing import WebSocketRoute
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from api.documents import chain
from api.people import guarded
from weft.api.access import Access
from weft.api.app import make_app
from weft.api.permissions import PERMISSIONS
from weft.ports.access import RANK

ROLES = ["viewer", "editor", "admin"]
NOBODIES = ["", "expired", "revoked", "unknown"]


@pytest.fixture
async def door(backend):
    async with guarded(backend) as one:
        yield one


async def described(door):
    answer = await door.service.client.get("/openapi.json", headers=door.headers("admin"))
    return answer.json()


async def test_every_operation_has_its_permission(door):
    whole = await described(door)
    described_ = {one["operationId"] for path in whole["paths"].values() for one in path.values()}
    app = make_app(door.service.backend, Access())
    sockets = {
        route.name
        for one in app.routes
        if hasattr(one, "original_router")
        for route in one.original_router.routes
        if isinstance(route, WebSocketRoute)
    }

    assert described_ | sockets | {"get_description"} == set(PERMISSIONS)
    assert {"follow_events"} <= sockets


async def test_the_matrix_of_operations_and_roles(door):
    whole = await described(door)
    wrong, tried = [], 0
    for path, some in whole["paths"].items():
        for method, operation in some.items():
            least = operation["x-weft-role"]
            for who in [*ROLES, *NOBODIES]:
                status = await _status(door, method, path, operation, who)
                tried += 1
                if least is None:
                    ok = status not in {401, 403}
                elif who in NOBODIES:
                    ok = status == 401
                elif RANK[who] < RANK[least]:
                    ok = status == 403
                else:
                    ok = status not in {401, 403} and status < 500
                if not ok:
                    wrong.append((operation["operationId"], who, status))

    assert [] == wrong
    assert tried >= 50 * (len(ROLES) + len(NOBODIES))


async def _status(door, method, path, operation, who):
    """Ask for an operation, about things that do not exist where it has a name to give."""
    place = re.sub(r"\{[^}]+\}", "1" if path.endswith("/{number}") else "none", path)
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    more = {"json": body["example"]} if "example" in body else {}
    headers = door.headers(who)
    async with door.service.client.stream(method, place, headers=headers, **more) as answer:
        if answer.status_code in {401, 403}:
            await answer.aread()
            ours = answer.json()["code"] in {"UNAUTHORIZED", "FORBIDDEN", "OUT_OF_SCOPE", "CSRF"}
            return answer.status_code if ours else 400  # its own reasons: a signature, a password
        # 429 counts those who may ask, too.
        return 200 if answer.status_code == 429 else answer.status_code


@pytest.mark.parametrize("who", ["", "expired", "revoked", "unknown", "operator", "viewer"])
async def test_a_socket_is_for_those_who_may_look(door, who):
    url = f"{door.service.url.replace('http', 'ws')}/api/v1/runs/none/events/socket"
    codes = []
    try:
        async with connect(url, additional_headers=door.headers(who)) as socket:
            await socket.recv()
    except InvalidStatus as refused:
        codes.append(refused.response.status_code)
    except ConnectionClosed as closed:
        codes.append(closed.rcvd.code)

    assert 1 == len(codes)
    entered = door.headers(who) and who in {"operator", "viewer"}
    assert await _told_of(door, who) == (404 if entered else 401)
    assert codes[0] in ({403, 4404} if entered else {403, 1008})


async def _told_of(door, who):
    return (await door.ask("GET", "/runs/none", who)).status_code


SCOPED = [
    ("GET", "/workflows/hello", None, 200),
    ("GET", "/workflows/other", None, 403),
    ("GET", "/workflows", None, 403),
    ("GET", "/runs?workflow_id=hello", None, 200),
    ("GET", "/runs?workflow_id=other", None, 403),
    ("GET", "/runs", None, 403),
    ("GET", "/runs/none", None, 403),
    ("GET", "/server", None, 200),
    ("GET", "/queues", None, 403),
    ("POST", "/workflows/hello:disable", None, 200),
    ("POST", "/workflows/hello:enable", None, 200),
    ("POST", "/workflows/other:disable", None, 403),
    ("POST", "/workflows", {"definition": chain("third")}, 403),
    ("POST", "/runs", {"workflow_id": "hello", "input": {"name": "Ada"}}, 201),
    ("POST", "/runs", {"workflow_id": "other"}, 403),
    ("POST", "/runs", {"definition": chain("hello")}, 403),
    ("POST", "/runs", {"workflow_id": "hello", "definition": chain("hello")}, 403),
    ("POST", "/runs", [], 403),
    ("POST", "/expressions:evaluate", {"template": "1"}, 200),
    ("POST", "/expressions:evaluate", {"template": "1", "execution_id": "none"}, 403),
]


async def test_a_token_for_one_workflow_touches_no_other(door):
    for name in ("hello", "other"):
        made = await door.ask("POST", "/workflows", "editor", json={"definition": chain(name)})
        assert 201 == made.status_code
    found = []
    for method, path, body, _ in SCOPED:
        more = {"json": body} if body is not None else {}
        answer = await door.ask(method, path, "scoped", **more)
        found.append((method, path, body, answer.status_code))

    assert SCOPED == found


async def test_a_token_for_one_workflow_sees_its_runs_and_no_others(door):
    runs = {}
    for name in ("hello", "other"):
        document = chain(name)
        await door.ask("POST", "/workflows", "editor", json={"definition": document})
        given = {"workflow_id": name, "input": {"name": "Ada"}}
        answer = await door.ask("POST", "/runs", "editor", json=given)
        runs[name] = answer.json()["execution_id"]

    own = await door.ask("GET", f"/runs/{runs['hello']}", "scoped")
    foreign = await door.ask("GET", f"/runs/{runs['other']}/events", "scoped")

    assert (200, 403) == (own.status_code, foreign.status_code)
    assert "OUT_OF_SCOPE" == foreign.json()["code"]
