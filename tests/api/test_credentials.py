"""Credentials: they go in, are used by those who may, and never come out."""

import asyncio

import pytest

from adapters.host.servers import smtp_server
from api.service import serving
from onward.adapters.host.keys import KeyRing
from onward.bootstrap.embedded_backend import open_embedded_backend
from onward.bootstrap.settings import EmbeddedSettings

SECRET = "sk_live_0123456789"
KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
GIVEN = {"name": "payments", "type": "http_bearer", "fields": {"token": SECRET}}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ONWARD_KEY", KEY)


def calling(url, name="charge", credential="payments"):
    """A workflow whose one node calls a URL with a credential."""
    return {
        "id": name,
        "nodes": [
            {"id": "start", "type": "manual_trigger"},
            {"id": "call", "type": "http", "credentials": credential, "parameters": {"url": url}},
        ],
        "edges": [{"id": "e1", "src": "start", "dst": "call"}],
    }


@pytest.fixture
async def echo():
    """A server that lets in who brings the token, and the tokens it was shown."""
    shown = []

    async def answer(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = [line for line in head.splitlines() if line.lower().startswith("authorization:")]
        shown.append(lines[0].partition(": ")[2] if lines else "")
        status = "200 OK" if SECRET in head else "401 Unauthorized"
        body = f'"you sent {shown[-1]}"'.encode()
        writer.write(
            f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode()
            + body
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", shown


async def test_a_credential_is_kept_sealed_and_never_told(service):
    made = await service.post("/credentials", GIVEN)
    got = await service.get("/credentials/payments")
    listed = await service.get("/credentials")
    twice = await service.post("/credentials", GIVEN)
    audit = await service.get("/audit")
    rows = await service.backend.access.credentials._tables.rows("SELECT * FROM credential")

    assert (201, 409) == (made.status_code, twice.status_code)
    assert made.json() == got.json() == listed.json()["items"][0]
    assert '"r1"' == got.headers["etag"]
    everything = made.text + got.text + listed.text + audit.text + repr(rows)
    assert SECRET not in everything


async def test_a_node_uses_the_credential_that_it_may(service, echo):
    url, shown = echo
    await service.post("/credentials", {**GIVEN, "workflows": ["charge"]})
    run = await service.ended(await service.start(calling(url), {}))

    assert "completed" == run["status"], run
    assert [f"Bearer {SECRET}"] == shown
    assert SECRET not in str(run)


async def test_a_workflow_that_may_not_is_told_so(service, echo):
    url, shown = echo
    await service.post("/credentials", {**GIVEN, "workflows": ["charge"]})
    run = await service.ended(await service.start(calling(url, name="other"), {}))

    assert ("halted", "CREDENTIAL") == (run["status"], run["error"]["code"])
    assert "workflow 'other' may not use credential 'payments'" in run["error"]["message"]
    assert [] == shown


async def test_who_may_use_it_is_bound_to_the_seal(service, echo):
    await service.post("/credentials", {**GIVEN, "workflows": ["charge"]})
    tables = service.backend.access.credentials._tables
    await tables.change(("UPDATE credential SET workflows = NULL WHERE name = $1", ("payments",)))
    run = await service.ended(await service.start(calling(echo[0], name="other"), {}))

    assert "CREDENTIAL" == run["error"]["code"]
    assert "tampered" in run["error"]["message"]
    assert [] == echo[1]


async def test_a_credential_is_replaced_at_its_revision(service, echo):
    url, shown = echo
    await service.post("/credentials", {**GIVEN, "fields": {"token": "the old one"}})
    path = "/credentials/payments"
    change = {"fields": {"token": SECRET}, "workflows": ["charge"]}
    client = service.client
    stale = await client.put(f"/api/v1{path}", json=change, headers={"if-match": '"r7"'})
    done = await client.put(f"/api/v1{path}", json=change, headers={"if-match": '"r1"'})
    allowed = await client.put(f"/api/v1{path}", json={"workflows": None})
    run = await service.ended(await service.start(calling(url, name="other"), {}))
    late = await client.delete(f"/api/v1{path}", headers={"if-match": '"r1"'})
    gone = await client.delete(f"/api/v1{path}")
    missing = await client.delete(f"/api/v1{path}")

    assert [412, 200, 200, 412, 204, 404] == [
        one.status_code for one in (stale, done, allowed, late, gone, missing)
    ]
    assert (3, None) == (allowed.json()["revision"], allowed.json()["workflows"])
    assert "completed" == run["status"]
    assert [f"Bearer {SECRET}"] == shown


async def test_every_credential_is_sealed_with_a_newer_key(service, echo, monkeypatch):
    await service.post("/credentials", GIVEN)
    newer = "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY="
    monkeypatch.setenv("ONWARD_KEY", f"{newer},{KEY}")
    first = await service.post("/credentials:rotate")
    again = await service.post("/credentials:rotate")
    monkeypatch.setenv("ONWARD_KEY", newer)
    run = await service.ended(await service.start(calling(echo[0]), {}))
    monkeypatch.setenv("ONWARD_KEY", KEY)
    lost = await service.ended(await service.start(calling(echo[0]), {}))

    assert [1, 0] == [first.json()["sealed_anew"], again.json()["sealed_anew"]]
    assert "completed" == run["status"]
    assert "which is not in ONWARD_KEY" in lost["error"]["message"]


async def test_without_a_key_a_cluster_keeps_no_credential(service, monkeypatch):
    monkeypatch.delenv("ONWARD_KEY")
    answer = await service.post("/credentials", GIVEN)

    assert (409, "CREDENTIAL") == (answer.status_code, answer.json()["code"])
    assert [] == (await service.get("/credentials")).json()["items"]


async def test_embedded_the_first_credential_makes_the_key_file(tmp_path, monkeypatch, echo):
    monkeypatch.delenv("ONWARD_KEY")
    file = tmp_path / "key"
    settings = EmbeddedSettings(database=tmp_path / "onward.db", key_file=file)
    async with open_embedded_backend(settings) as backend, serving(backend) as service:
        made = await service.post("/credentials", GIVEN)
        rotated = await service.post("/credentials:rotate")
        run = await service.ended(await service.start(calling(echo[0]), {}))

    assert (201, 1) == (made.status_code, rotated.json()["sealed_anew"])
    assert 2 == len(KeyRing({}, file).keys())
    assert "completed" == run["status"]


async def test_who_names_a_credential_is_listed(service):
    await service.post("/credentials", {**GIVEN, "workflows": ["charge"]})
    await service.create(calling("http://a.example/", "charge"))
    await service.create(calling("http://a.example/", "other"))
    await service.create(calling("http://a.example/", "third", "another"))
    changed = calling("http://b.example/", "charge")
    await service.post("/workflows/charge/versions", {"definition": changed})
    named = (await service.get("/credentials/payments/usage")).json()["items"]
    missing = await service.get("/credentials/none/usage")

    assert [
        ("charge", 1, True, True),
        ("charge", 2, False, True),
        ("other", 1, True, False),
    ] == [tuple(one.values()) for one in named]
    assert 404 == missing.status_code


async def test_an_http_credential_is_tried(service, echo):
    url, shown = echo
    await service.post("/credentials", GIVEN)
    await service.post("/credentials", {**GIVEN, "name": "bad", "fields": {"token": "nope"}})
    right = await service.post("/credentials/payments:test", {"url": url})
    wrong = await service.post("/credentials/bad:test", {"url": url})
    closed = await service.post("/credentials/bad:test", {"url": "http://127.0.0.1:1/"})
    lacking = await service.post("/credentials/bad:test", {})

    assert {"ok": True, "detail": "the server answered 200", "status": 200} == right.json()
    assert {"ok": False, "detail": "the server answered 401", "status": 401} == wrong.json()
    assert (False, None) == (closed.json()["ok"], closed.json()["status"])
    assert (409, "NEEDS_URL") == (lacking.status_code, lacking.json()["code"])
    assert [f"Bearer {SECRET}", "Bearer nope"] == shown


async def test_a_mail_credential_is_tried(local, certificates):
    fields = {
        "host": "127.0.0.1",
        "tls": "tls",
        "verify_tls": "false",
        "username": "ann",
        "password": "s3cret-word",
    }
    async with smtp_server(tls="tls", context=certificates.server, login=True) as box:
        fields["port"] = str(box.port)
        wrong = {**fields, "password": "a-wrong-word"}
        for name, some in (("right", fields), ("wrong", wrong)):
            await local.post("/credentials", {"name": name, "type": "smtp", "fields": some})
        right = await local.post("/credentials/right:test", {})
        refused = await local.post("/credentials/wrong:test", {})

    assert {"ok": True, "detail": "the mail server let us in", "status": None} == right.json()
    assert "refused the login" in refused.json()["detail"]
    assert refused.json()["ok"] is False
    assert [] == box.envelopes


async def test_a_credential_of_any_fields_cannot_be_tried(local):
    await local.post("/credentials", {"name": "x", "type": "generic", "fields": {"a": "b"}})
    answer = await local.post("/credentials/x:test", {})

    assert (409, "NO_TRIAL") == (answer.status_code, answer.json()["code"])


async def test_what_is_wrong_with_fields_is_named_without_their_values(local):
    for given, pointer in [
        ({"type": "ftp", "fields": {"a": SECRET}}, "/type"),
        ({"type": "http_basic", "fields": {"username": SECRET}}, "/fields/password"),
        ({"type": "http_bearer", "fields": {"token": "x", "other": SECRET}}, "/fields/other"),
        ({"type": "smtp", "fields": {"host": "h", "tls": SECRET}}, "/fields/tls"),
        ({"type": "smtp", "fields": {"host": "h", "port": SECRET}}, "/fields/port"),
        ({"type": "smtp", "fields": {"host": "h", "username": SECRET}}, "/fields/username"),
        ({"type": "generic", "fields": {}}, "/fields"),
    ]:
        answer = await local.post("/credentials", {"name": "x", **given})

        assert (422, "INVALID_CREDENTIAL") == (answer.status_code, answer.json()["code"]), given
        assert [pointer] == [one["pointer"] for one in answer.json()["errors"]]
        assert SECRET not in answer.text
    assert [] == (await local.get("/credentials")).json()["items"]


async def test_every_type_is_described(service):
    types = (await service.get("/credential-types")).json()["items"]

    assert ["http_basic", "http_bearer", "http_header", "smtp", "generic"] == [
        type_["type"] for type_ in types
    ]
