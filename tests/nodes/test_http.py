"""The http node, through the real client, against a real server."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from adapters.host.servers import Site, http_site, reply
from onward.adapters.host.http import HostHttp
from onward.adapters.host.log import HostLog
from onward.adapters.host.mail import HostMail
from onward.kernel.outcome import Failed, Succeeded
from onward.nodes.graph.http import HttpNode
from onward.ports.nodes.node import Tools


async def run(
    parameters: dict[str, Any],
    raw: bytes | None = None,
    credentials: dict[str, str] | None = None,
    key: str = "key-1",
) -> tuple[Succeeded | Failed, Site]:
    async with http_site(lambda _: raw or reply()) as site:
        node = msgspec.convert({"url": f"{site.url}/p", **parameters}, HttpNode)
        http = HostHttp()
        tools = Tools(http, HostMail(), HostLog(), credentials or {}, key)
        outcome = await node.run(tools)
        await http.aclose()
    return outcome, site


async def output(parameters: dict[str, Any], raw: bytes | None = None) -> dict[str, Any]:
    outcome, _ = await run(parameters, raw)
    assert isinstance(outcome, Succeeded)
    return outcome.output


async def failure(parameters: dict[str, Any], **more: Any) -> tuple[Failed, Site]:
    outcome, site = await run(parameters, **more)
    assert isinstance(outcome, Failed)
    return outcome, site


async def test_a_json_answer_is_parsed():
    answer = await output(
        {}, reply(201, b'{"a": [1, "\xc3\xbc"]}', content_type="application/json")
    )

    assert isinstance(answer.pop("duration_ms"), int)
    headers = answer.pop("headers")
    assert "application/json" == headers["content-type"]
    assert {"status": 201, "body": {"a": [1, "ü"]}} == answer


@pytest.mark.parametrize(
    ("content_type", "raw", "body"),
    [
        ("application/problem+json; charset=utf-8", b'{"a":1}', {"a": 1}),
        ("application/json", b"{broken", "{broken"),
        ("application/json", b"", ""),
        ("application/json", b"NaN", "NaN"),
        ("application/json", b'"\\ud800"', '"\\ud800"'),
        ("application/json", b"9007199254740993", 9007199254740993),
        ("application/json", b"[" * 100_000, "[" * 100_000),
        ("text/plain", "grün".encode(), "grün"),
        ("text/plain; charset=iso-8859-1", "grün".encode("latin-1"), "grün"),
        ('text/html; charset="utf-16"', "grün".encode("utf-16"), "grün"),
        ("text/plain; charset=zlib", b"plain", "plain"),
        ("text/plain; charset=no-such", b"plain", "plain"),
        ("image/svg+xml", b"<svg/>", "<svg/>"),
    ],
)
async def test_text_is_read_as_what_it_is(content_type: str, raw: bytes, body: object):
    answer = await output({}, reply(body=raw, content_type=content_type))

    assert body == answer["body"]
    assert "body_encoding" not in answer


@pytest.mark.parametrize("content_type", ["image/png", "application/octet-stream", "text/plain"])
async def test_bytes_are_given_as_base64(content_type: str):
    answer = await output({}, reply(body=b"\x89PNG\xff", content_type=content_type))

    assert b"\x89PNG\xff" == base64.b64decode(answer["body"])
    assert "base64" == answer["body_encoding"]


@pytest.mark.parametrize(
    ("headers", "body", "content_type", "sent"),
    [
        ({}, {"a": "ü"}, "application/json", '{"a":"ü"}'.encode()),
        ({}, [1, None], "application/json", b"[1,null]"),
        ({}, 0, "application/json", b"0"),
        ({}, False, "application/json", b"false"),
        ({}, "ü", "text/plain; charset=utf-8", "ü".encode()),
        ({"Content-Type": "application/xml"}, "<a/>", "application/xml", b"<a/>"),
        ({"content-type": "application/vnd.x+json"}, {}, "application/vnd.x+json", b"{}"),
        (
            {"Content-Type": "application/x-www-form-urlencoded"},
            {"a": "x &=ü", "b": [1, True], "c": None},
            "application/x-www-form-urlencoded",
            b"a=x+%26%3D%C3%BC&b=1&b=true",
        ),
    ],
)
async def test_the_body_is_json_form_or_text(
    headers: dict[str, str], body: object, content_type: str, sent: bytes
):
    _, site = await run({"method": "POST", "headers": headers, "body": body})

    assert (content_type, sent) == (
        site.received[0].headers["content-type"],
        site.received[0].body,
    )


async def test_without_a_body_no_content_type_is_sent():
    _, site = await run({})

    assert (b"", False) == (site.received[0].body, "content-type" in site.received[0].headers)


async def test_the_query_takes_scalars_and_lists():
    _, site = await run({"query": {"q": "ü &", "n": 3, "on": True, "l": ["a", 1.5], "no": None}})

    assert "/p?q=%C3%BC%20%26&n=3&on=true&l=a&l=1.5" == site.received[0].target.replace("+", "%20")


@pytest.mark.parametrize(
    ("pattern", "status", "raised"),
    [
        (404, 404, True),
        (404, 400, False),
        ("404", 404, True),
        ("5xx", 500, True),
        ("5xx", 599, True),
        ("5xx", 499, False),
        ("400-404", 404, True),
        ("400-404", 405, False),
    ],
)
async def test_a_status_fails_the_node_when_a_pattern_names_it(
    pattern: object, status: int, raised: bool
):
    outcome, _ = await run({"raise_on_status": [pattern]}, reply(status))

    assert raised == isinstance(outcome, Failed)


async def test_any_status_is_a_success_by_default():
    assert 500 == (await output({}, reply(500)))["status"]


async def test_a_raised_status_tells_method_place_status_and_body():
    raw = reply(503, b'{"why": "busy"}', content_type="application/json")

    failed, site = await failure({"raise_on_status": ["5xx"], "query": {"key": "abc"}}, raw=raw)

    assert "HTTP_503" == failed.error.code
    assert f"GET {site.url}/p answered 503" == failed.error.message
    assert {
        "method": "GET",
        "url": f"{site.url}/p",
        "status": 503,
        "body": {"why": "busy"},
    } == failed.error.details


async def test_a_large_body_is_left_out_of_the_error():
    failed, _ = await failure({"raise_on_status": ["5xx"]}, raw=reply(500, b"x" * 10_000))

    assert "body" not in failed.error.details


async def test_what_the_client_cannot_do_is_a_failure_with_its_code():
    failed, _ = await failure({"max_bytes": 10}, raw=reply(body=b"x" * 11))

    assert "HTTP_TOO_LARGE" == failed.error.code


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_method_that_changes_things_carries_the_idempotency_key(method: str):
    _, site = await run({"method": method})

    assert "key-1" == site.received[0].headers["idempotency-key"]


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
async def test_a_method_that_only_reads_carries_none(method: str):
    _, site = await run({"method": method})

    assert "idempotency-key" not in site.received[0].headers


async def test_the_users_own_idempotency_key_stands():
    _, site = await run({"method": "POST", "headers": {"Idempotency-Key": "mine"}})

    assert "mine" == site.received[0].headers["idempotency-key"]


@pytest.mark.parametrize(
    ("fields", "header", "value"),
    [
        ({"token": "abc"}, "authorization", "Bearer abc"),
        (
            {"username": "änn", "password": "p:w"},
            "authorization",
            "Basic " + base64.b64encode("änn:p:w".encode()).decode(),
        ),
        ({"username": "sk"}, "authorization", "Basic " + base64.b64encode(b"sk:").decode()),
        ({"header": "X-Api-Key", "value": "abc", "token": "no"}, "x-api-key", "abc"),
    ],
)
async def test_a_credential_becomes_a_header(fields: dict[str, str], header: str, value: str):
    _, site = await run({}, credentials=fields)

    assert value == site.received[0].headers[header]


async def test_a_credential_without_usable_fields_is_refused_by_field_name():
    failed, site = await failure({}, credentials={"secret": "s3cret"})

    assert ("CREDENTIAL", []) == (failed.error.code, site.received)
    assert "the fields secret:" in failed.error.message
    assert "s3cret" not in str(failed)


async def test_a_header_from_both_sides_is_refused():
    failed, site = await failure({"headers": {"AUTHORIZATION": "x"}}, credentials={"token": "abc"})

    assert ("HTTP_REQUEST", []) == (failed.error.code, site.received)
    assert "keep one of them" in failed.error.message


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"url": "ftp://example.com/x"}, "scheme 'ftp'"),
        ({"url": "file:///etc/passwd"}, "complete URL"),
        ({"url": "javascript:alert(1)"}, "complete URL"),
        ({"url": "example.com"}, "complete URL"),
        ({"url": "http://"}, "complete URL"),
        ({"url": "http://a:99999/"}, "complete URL"),
        ({"url": "http://[::1/"}, "complete URL"),
        ({"url": "http://example.com/a b"}, "control character"),
        ({"url": "http://example.com/\r\nX: y"}, "control character"),
        ({"url": "http://example.com/\ud800"}, "surrogate"),
        ({"url": "http://user:pw@example.com/"}, "name a credential"),
        ({"headers": {"X": "a\r\nY: b"}}, "line break"),
        ({"headers": {"X": "a\nb"}}, "line break"),
        ({"headers": {"X": "a\0b"}}, "control"),
        ({"headers": {"X": "grün"}}, "non-ASCII"),
        ({"headers": {"X\r\nY": "b"}}, "not a header name"),
        ({"headers": {"": "b"}}, "not a header name"),
        ({"headers": {"X": "1", "x": "2"}}, "twice"),
        ({"headers": {"Content-Length": "5"}}, "may not set"),
        ({"headers": {"Transfer-Encoding": "chunked"}}, "may not set"),
        ({"body": "\ud800"}, "surrogate"),
        ({"body": {"a": "\ud800"}}, "cannot be written as JSON"),
        ({"query": {"a": "\ud800"}}, "surrogate"),
        ({"query": {"\ud800": "a"}}, "surrogate"),
        (
            {"headers": {"content-type": "application/x-www-form-urlencoded"}, "body": [1]},
            "must be an object, not a list",
        ),
        (
            {
                "headers": {"content-type": "application/x-www-form-urlencoded"},
                "body": {"a": {"b": 1}},
            },
            "forms are flat",
        ),
    ],
)
async def test_a_request_that_must_not_be_sent_is_refused(parameters: dict[str, Any], words: str):
    failed, site = await failure(parameters)

    assert ("HTTP_REQUEST", []) == (failed.error.code, site.received)
    assert words in failed.error.message
    msgspec.json.encode(failed)


async def test_a_credential_cannot_inject_a_header():
    failed, site = await failure({}, credentials={"token": "a\r\nX: s3cret"})

    assert ("HTTP_REQUEST", []) == (failed.error.code, site.received)
    assert "s3cret" not in failed.error.message


async def test_errors_show_no_query():
    failed, _ = await failure({"url": "http://127.0.0.1:1/p?key=s3cret"})

    assert "HTTP_CONNECT" == failed.error.code
    assert "s3cret" not in str(failed)
