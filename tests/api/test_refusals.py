"""Whatever is wrong with a request: the right status, a code, the place and the remedy."""

import pytest

from api.documents import chain
from api.service import serving
from onward.api.http.identity import Access
from onward.errors import InputError, StorageError

NESTED = "[" * 600 + "]" * 600

BAD = [
    ("GET", "/nowhere", None, 404, "NO_SUCH_ROUTE"),
    ("DELETE", "/workflows", None, 405, "METHOD_NOT_ALLOWED"),
    ("GET", "/workflows/none", None, 404, "NOT_FOUND"),
    ("GET", "/workflows/bad%20id", None, 422, "INVALID_REQUEST"),
    ("GET", "/workflows/none/versions/0", None, 422, "INVALID_REQUEST"),
    ("GET", "/workflows?limit=0", None, 422, "INVALID_REQUEST"),
    ("GET", "/workflows?limit=x", None, 422, "INVALID_REQUEST"),
    ("GET", "/workflows?q=a%00b", None, 422, "INVALID_REQUEST"),
    ("GET", "/runs/a%00b", None, 422, "INVALID_REQUEST"),
    ("GET", "/workflows?cursor=nonsense", None, 422, "BAD_CURSOR"),
    ("GET", "/runs?cursor=WyJhIl0", None, 422, "BAD_CURSOR"),
    ("GET", "/runs?status=stuck", None, 422, "INVALID_REQUEST"),
    ("GET", "/runs?started_after=yesterday", None, 422, "INVALID_REQUEST"),
    ("GET", "/runs/none", None, 404, "NOT_FOUND"),
    ("GET", "/runs/none/events", None, 404, "NOT_FOUND"),
    ("GET", "/runs/none/events/stream", None, 404, "NOT_FOUND"),
    ("GET", "/runs/none:explain", None, 404, "NOT_FOUND"),
    ("GET", "/runs/none/data", None, 422, "INVALID_REQUEST"),
    ("GET", "/runs/none/visits?item=users", None, 404, "NOT_FOUND"),
    ("GET", "/node-types/htp", None, 404, "NOT_FOUND"),
    ("POST", "/workflows", "{", 400, "MALFORMED_JSON"),
    ("POST", "/workflows", '{"definition": NaN}', 400, "MALFORMED_JSON"),
    ("POST", "/workflows", '{"definition": "\\ud800"}', 400, "MALFORMED_JSON"),
    ("POST", "/workflows", f'{{"definition": {NESTED}}}', 400, "MALFORMED_JSON"),
    ("POST", "/workflows", "[]", 422, "INVALID_REQUEST"),
    ("POST", "/workflows", "{}", 422, "INVALID_REQUEST"),
    ("POST", "/workflows", '{"definition": 7}', 422, "INVALID_REQUEST"),
    ("POST", "/workflows", '{"definition": {}, "extra": 1}', 422, "INVALID_REQUEST"),
    ("POST", "/workflows", '{"definition": {}}', 422, "INVALID_DEFINITION"),
    ("POST", "/workflows", '{"definition": "a: ["}', 422, "INVALID_DEFINITION"),
    ("POST", "/workflows/none:publish", "{}", 404, "NOT_FOUND"),
    ("POST", "/runs", "{}", 422, "INVALID_REQUEST"),
    ("POST", "/runs", '{"workflow_id": "none"}', 404, "NOT_FOUND"),
    ("POST", "/runs", '{"workflow_id": "a", "definition": {"id": "a"}}', 422, "INVALID_REQUEST"),
    ("POST", "/expressions:evaluate", '{"template": "{{ ( }}"}', 422, "EXPRESSION_SYNTAX"),
    ("POST", "/expressions:evaluate", '{"template": "{{ 1/0 }}"}', 422, "EXPRESSION_FAILED"),
    (
        "POST",
        "/expressions:evaluate",
        '{"template": "{{ [range(1e9)] | length }}"}',
        422,
        "EXPRESSION_LIMIT",
    ),
]


async def test_everything_that_is_refused_is_a_problem(local):
    found = []
    for method, path, body, _, _ in BAD:
        headers = {"content-type": "application/json"} if body else {}
        answer = await local.client.request(method, f"/api/v1{path}", content=body, headers=headers)
        assert "application/problem+json" == answer.headers["content-type"], path
        problem = answer.json()
        assert answer.status_code == problem["status"]
        assert answer.headers["x-request-id"] == problem["request_id"]
        assert problem["detail"]
        found.append((method, path, body, answer.status_code, problem["code"]))

    assert BAD == found


async def test_a_wrong_field_is_named_by_its_pointer(local):
    answer = await local.post("/workflows", {"definition": {}, "a/b": 1, "note": 7})

    assert {"/a~1b", "/note"} == {one["pointer"] for one in answer.json()["errors"]}


async def test_a_parameter_is_named(local):
    answer = await local.get("/runs", params={"limit": 1000})

    assert ["limit"] == [one["parameter"] for one in answer.json()["errors"]]


async def test_a_body_that_is_not_json_is_refused(local):
    answer = await local.client.post("/api/v1/workflows", content=b"id: hello")

    assert (415, "NOT_JSON") == (answer.status_code, answer.json()["code"])


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_that_is_too_large_is_refused(local, chunked):
    async def pieces():
        for _ in range(12):
            yield b"x" * 1024 * 1024

    answer = await local.client.post(
        "/api/v1/workflows", content=pieces() if chunked else b"x" * (10 * 1024 * 1024 + 1)
    )

    assert (413, "BODY_TOO_LARGE") == (answer.status_code, answer.json()["code"])


async def test_a_request_keeps_the_name_that_it_came_with(local):
    given = await local.get("/server", headers={"x-request-id": "abc-1"})
    strange = await local.get("/server", headers={"x-request-id": "a b"})

    assert "abc-1" == given.headers["x-request-id"]
    assert strange.headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"host": "evil.example"}, "FOREIGN_HOST"),
        ({"host": "127.0.0.1.evil.example:80"}, "FOREIGN_HOST"),
        ({"host": "["}, "FOREIGN_HOST"),
        ({"origin": "http://evil.example"}, "FOREIGN_ORIGIN"),
        ({"origin": "null"}, "FOREIGN_ORIGIN"),
    ],
)
async def test_on_loopback_foreign_names_and_pages_are_refused(local, headers, code):
    answer = await local.get("/server", headers=headers)

    assert (403, code) == (answer.status_code, answer.json()["code"])


async def test_a_page_of_this_server_may_use_it(local):
    assert 200 == (await local.get("/server", headers={"origin": local.url})).status_code


async def test_with_a_token_every_request_must_bring_it(local):
    token = "a-token-of-some-length"
    async with serving(local.backend, Access.of("0.0.0.0", token)) as guarded:
        none = await guarded.get("/server")
        wrong = await guarded.get("/server", headers={"authorization": "Bearer nope"})
        right = await guarded.get("/server", headers={"authorization": f"Bearer {token}"})
        alive = await guarded.client.get("/livez")

    assert [401, 401, 200, 200] == [one.status_code for one in (none, wrong, right, alive)]
    assert none.headers["www-authenticate"].startswith("Bearer")


def test_a_token_that_is_too_short_is_refused():
    with pytest.raises(InputError, match="too short"):
        Access.of("0.0.0.0", "short")
    assert Access() == Access.of("127.0.0.1", None)


async def test_a_bug_tells_nothing_of_itself_and_a_store_that_is_away_says_so(local, monkeypatch):
    async def broken():
        raise ZeroDivisionError("secret")

    async def away():
        raise StorageError("PostgreSQL cannot be reached: start it")

    operations = type(local.backend.operations)
    monkeypatch.setattr(operations, "queues", lambda _: broken())
    monkeypatch.setattr(operations, "workers", lambda _: away())
    bug = await local.get("/queues")
    outage = await local.get("/workers")

    assert (500, "INTERNAL") == (bug.status_code, bug.json()["code"])
    assert "secret" not in bug.text
    assert (503, "UNAVAILABLE") == (outage.status_code, outage.json()["code"])
    assert "retry-after" in outage.headers


async def test_data_that_nests_deeply_comes_back_as_it_went(local):
    deep = None
    for _ in range(400):
        deep = [deep]
    run = await local.start(chain(expression="$trigger"), deep)
    ended = await local.ended(run)

    assert deep == ended["output"]
