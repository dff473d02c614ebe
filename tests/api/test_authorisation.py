"""Every route for every role, for nobody, and for tokens that count no more.

The matrix is made from the description, so a route that is in no table of permissions fails here.
"""

import re

import pytest
from starlette.routing import WebSocketRoute
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from api.documents import chain
from api.people import guarded
from onward.api.app import make_app
from onward.api.http.identity import Access
from onward.api.routing.permissions import PERMISSIONS
from onward.ports.security.accounts import RANK

JSON = "application/json"
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
            least = operation["x-onward-role"]
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


async def test_the_matrix_of_operations_for_a_token_of_one_workflow(door):
    """What such a token may touch is asked about its own workflow, and about another one."""
    places = {name: await _things(door, name) for name in ("hello", "other")}
    whole = await described(door)
    asked = [
        (operation["operationId"], method, path, operation)
        for path, some in whole["paths"].items()
        for method, operation in some.items()
    ]
    asked.sort(key=lambda one: one[1] == "delete")  # what is gone would be nobody's
    wrong = []
    for name, method, path, operation in asked:
        found = PERMISSIONS[name]
        for workflow, things in places.items():
            status = await _scoped_status(door, method, path, operation, things)
            if found.role is None or (found.role != "admin" and found.reach == "nothing"):
                entered = True
            else:
                entered = (
                    found.role != "admin" and found.reach != "everything" and workflow == "hello"
                )
            ok = status not in {401, 403} and status < 500 if entered else status == 403
            if not ok:
                wrong.append((name, workflow, status))

    assert [] == wrong


async def _things(door, workflow):
    """Make a workflow with a run and a trigger, and return their names."""
    await door.ask("POST", "/workflows", "editor", json={"definition": chain(workflow)})
    given = {"workflow_id": workflow, "input": {"name": "Ada"}}
    run = (await door.ask("POST", "/runs", "editor", json=given)).json()["execution_id"]
    trigger = {
        "trigger_id": f"t-{workflow}",
        "workflow_id": workflow,
        "settings": {"kind": "cron", "expression": "0 0 * * *"},
    }
    assert 201 == (await door.ask("POST", "/triggers", "editor", json=trigger)).status_code
    return {"workflow_id": workflow, "execution_id": run, "trigger_id": trigger["trigger_id"]}


async def _scoped_status(door, method, path, operation, things):
    """Ask for an operation about the things of one workflow, wherever they are to be named."""
    reach = PERMISSIONS[operation["operationId"]].reach
    place = path
    for name, value in things.items():
        place = place.replace(f"{{{name}}}", value)
    if reach == "query":
        place += f"?workflow_id={things['workflow_id']}"
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    if "example" in body:
        body = {"example": _renamed(body["example"], reach, things)}
    return await _status(door, method, place, {"requestBody": {"content": {JSON: body}}}, "scoped")


def _renamed(example, reach, things):
    if reach == "start":
        named = {"workflow_id": things["workflow_id"]}
        return {k: v for k, v in example.items() if k != "definition"} | named
    return {**example, "execution_id": things["execution_id"]} if reach == "evaluate" else example


async def test_a_socket_is_for_those_who_may_look(door):
    runs = {name: (await _things(door, name))["execution_id"] for name in ("hello", "other")}
    people = [*ROLES, *NOBODIES, "operator", "scoped"]
    entered = {(who, of) for who in people for of in runs if await _enters(door, who, runs[of])}

    assert {(who, of) for who in [*ROLES, "operator"] for of in runs} | {
        ("scoped", "hello")
    } == entered


async def _enters(door, who, run):
    """Whether somebody is told of a run on a socket."""
    url = f"{door.service.url.replace('http', 'ws')}/api/v1/runs/{run}/events/socket"
    try:
        async with connect(url, additional_headers=door.headers(who)) as socket:
            return "seq" in await socket.recv()
    except InvalidStatus as refused:
        assert 403 == refused.response.status_code
        return False


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
