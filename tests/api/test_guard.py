"""What every answer says about itself, and how much somebody may send whom nobody knows."""

import asyncio

import pytest

from api.people import guarded
from onward.api.http.middleware import UNKNOWN_BODY_LIMIT

PROMISES = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.mark.parametrize("path", ["/api/v1/server", "/api/v1/nowhere", "/livez", "/openapi.json"])
async def test_every_answer_is_for_this_page_alone(local, path):
    answer = await local.client.get(path)
    refused = await local.client.get(path, headers={"host": "evil.example"})

    for one in (answer, refused):
        assert PROMISES == {name: one.headers.get(name) for name in PROMISES}
        assert "strict-transport-security" not in one.headers


async def test_by_https_a_browser_is_told_to_stay_with_it(local):
    answer = await local.get("/server", headers={"x-forwarded-proto": "https"})

    assert answer.headers["strict-transport-security"].startswith("max-age=")


@pytest.mark.parametrize("origin", ["http://[", "null", "", "http://localhost:1", "//x"])
async def test_a_strange_origin_is_a_foreign_one(local, origin):
    answer = await local.get("/server", headers={"origin": origin})

    assert (403, "FOREIGN_ORIGIN") == (answer.status_code, answer.json()["code"])


@pytest.mark.parametrize("length", ["-1", "x", "٣", "1" * 30])
async def test_a_length_that_is_none_is_refused(local, length):
    host, port = local.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST /api/v1/tokens HTTP/1.1\r\nHost: {host}:{port}\r\n"
    writer.write(f"{head}Content-Length: {length}\r\n\r\n".encode())
    line = await reader.readline()
    writer.close()

    assert b" 4" in line


async def test_who_says_not_who_it_is_may_send_little(local):
    async with guarded(local.backend) as door:
        body = b"x" * (UNKNOWN_BODY_LIMIT + 1)
        nobody = await door.ask("POST", "/workflows", content=body)
        editor = await door.ask("POST", "/workflows", "editor", content=body)

    assert [413, 415] == [nobody.status_code, editor.status_code]


async def test_the_description_is_for_those_who_may_look(local):
    async with guarded(local.backend) as door:
        client = door.service.client
        nobody = await client.get("/openapi.json")
        viewer = await client.get("/openapi.json", headers=door.headers("viewer"))

    assert [401, 200] == [nobody.status_code, viewer.status_code]
    whole = viewer.json()
    assert [{"token": []}] == whole["security"]
    assert [] == whole["paths"]["/api/v1/login"]["post"]["security"]
    assert "admin" == whole["paths"]["/api/v1/users"]["get"]["x-onward-role"]
