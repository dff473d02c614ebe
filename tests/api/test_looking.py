"""Small questions that every server answers: what it is, what it can do, whom and what it knows."""

from api.documents import chain
from onward import __version__


async def test_a_server_says_what_it_is_and_that_it_lives(service):
    server = (await service.get("/server")).json()
    alive = await service.client.get("/livez")
    ready = await service.client.get("/readyz")
    described = (await service.client.get("/openapi.json")).json()

    assert __version__ == server["version"] == described["info"]["version"]
    assert (200, 200) == (alive.status_code, ready.status_code)


async def test_node_types_are_listed_and_explained(service):
    listed = (await service.get("/node-types")).json()["items"]
    one = (await service.get("/node-types/transform")).json()

    assert {"transform", "split", "http"} <= {each["type"] for each in listed}
    assert "transform" == one["type"]
    assert "expression" in str(one["parameters"])


async def test_what_a_run_left_is_listed_by_name(service):
    run = await service.start(chain(), {"name": "Ada"})
    await service.ended(run)

    listed = (await service.get(f"/runs/{run}/context")).json()["items"]

    assert ["$greet", "$start", "$trigger"] == sorted(one["name"] for one in listed)


async def test_a_user_and_a_token_are_read_back_without_their_secrets(service):
    password = "correct horse battery"
    user = await service.post("/users", {"name": "bo", "password": password, "role": "viewer"})
    token = await service.post("/tokens", {"name": "ci", "role": "editor"})
    found = await service.get("/users/bo")
    named = await service.get(f"/tokens/{token.json()['token_id']}")

    assert (201, 201, 200, 200) == tuple(one.status_code for one in (user, token, found, named))
    assert ("viewer", "editor") == (found.json()["role"], named.json()["role"])
    assert password not in found.text
    assert token.json()["token"] not in named.text


async def test_a_workflow_that_was_disabled_is_enabled(service):
    await service.create(chain())
    await service.post("/workflows/hello:disable")
    refused = await service.post("/runs", {"workflow_id": "hello"})

    enabled = await service.post("/workflows/hello:enable")
    taken = await service.post("/runs", {"workflow_id": "hello", "input": {"name": "Ada"}})

    assert (409, 200, True, 201) == (
        refused.status_code,
        enabled.status_code,
        enabled.json()["enabled"],
        taken.status_code,
    )
