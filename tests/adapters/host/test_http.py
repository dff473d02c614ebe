"""The HTTP adapter against a server that may misbehave."""

from __future__ import annotations

import asyncio
import gzip
import socket

import pytest

from adapters.host.servers import Certificates, Received, http_site, reply, tcp_server
from onward.adapters.host.http import HostHttp
from onward.ports.nodes.outside import HttpAnswer, HttpRequest, OutsideError


async def fetch(http: HostHttp | None = None, **request: object) -> HttpAnswer:
    client = http or HostHttp()
    try:
        return await client.send(HttpRequest(**{"method": "GET", **request}))  # type: ignore[arg-type]  # test data
    finally:
        await client.aclose()


async def code_of(http: HostHttp | None = None, **request: object) -> str:
    with pytest.raises(OutsideError) as caught:
        await fetch(http, **request)
    return caught.value.code


async def test_the_answer_has_status_headers_body_and_duration():
    async with http_site(lambda _: reply(418, b"short", X_Kind="teapot")) as site:
        answer = await fetch(url=f"{site.url}/a?x=1", query=[("y", "ü&"), ("y", "2")])

    assert (418, b"short", "teapot") == (answer.status, answer.body, answer.headers["x-kind"])
    assert answer.duration_ms >= 0
    assert "/a?x=1&y=%C3%BC%26&y=2" == site.received[0].target


async def test_requests_share_a_pooled_connection():
    http = HostHttp()
    async with http_site(lambda _: reply()) as site:
        for _ in range(3):
            await http.send(HttpRequest(method="GET", url=site.url))
        await http.aclose()

    assert (3, 1) == (len(site.received), site.connections)


async def test_cookies_of_one_request_are_not_sent_with_the_next():
    http = HostHttp()
    async with http_site(lambda _: reply(Set_Cookie="session=abc; Path=/")) as site:
        for _ in range(2):
            await http.send(HttpRequest(method="GET", url=site.url))
        await http.aclose()

    assert [None, None] == [request.headers.get("cookie") for request in site.received]


async def test_a_server_that_never_answers_is_given_up_after_the_timeout():
    async with http_site(lambda _: None) as site, asyncio.timeout(1.5):
        assert "HTTP_TIMEOUT" == await code_of(url=site.url, timeout_s=0.05)


async def test_a_server_that_drips_bytes_cannot_outlast_the_timeout():
    """A time-out for each read would be renewed by every byte: the deadline is for the whole."""

    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n")
        while True:
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0)

    async with tcp_server(drip) as port, asyncio.timeout(1.5):
        assert "HTTP_TIMEOUT" == await code_of(url=f"http://127.0.0.1:{port}", timeout_s=0.1)


async def test_nobody_listening_is_a_connect_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        assert "HTTP_CONNECT" == await code_of(url=url)


async def test_an_answer_that_is_not_http_is_a_protocol_error():
    async with http_site(lambda _: b"220 mail.test ESMTP\r\n\r\n") as site:
        assert "HTTP_PROTOCOL" == await code_of(url=site.url)


async def test_an_answer_may_be_exactly_as_large_as_allowed():
    async with http_site(lambda _: reply(body=b"x" * 1000)) as site:
        answer = await fetch(url=site.url, max_bytes=1000)

    assert 1000 == len(answer.body)


async def test_an_answer_one_byte_too_large_is_refused():
    async with http_site(lambda _: reply(body=b"x" * 1001)) as site:
        assert "HTTP_TOO_LARGE" == await code_of(url=site.url, max_bytes=1000)


async def test_a_gzip_bomb_is_stopped_by_its_unpacked_size():
    bomb = gzip.compress(b"\0" * 20_000_000)
    assert len(bomb) < 100_000

    async with http_site(lambda _: reply(body=bomb, Content_Encoding="gzip")) as site:
        assert "HTTP_TOO_LARGE" == await code_of(url=site.url, max_bytes=100_000)


async def test_damaged_compression_is_a_protocol_error():
    async with http_site(lambda _: reply(body=b"not gzip", Content_Encoding="gzip")) as site:
        assert "HTTP_PROTOCOL" == await code_of(url=site.url)


async def test_redirects_are_followed_and_a_see_other_becomes_a_get():
    def answer(request: Received) -> bytes:
        return reply(303, Location="/there") if request.target == "/here" else reply(body=b"hi")

    async with http_site(answer) as site:
        answered = await fetch(url=f"{site.url}/here", method="POST", body=b"x")

    assert b"hi" == answered.body
    assert [("POST", "/here"), ("GET", "/there")] == [(r.method, r.target) for r in site.received]


async def test_redirects_are_not_followed_when_not_wanted():
    async with http_site(lambda _: reply(302, Location="/there")) as site:
        answered = await fetch(url=site.url, follow_redirects=False)

    assert (302, "/there", 1) == (answered.status, answered.headers["location"], len(site.received))


async def test_endless_redirects_are_given_up():
    async with http_site(lambda _: reply(302, Location="/again")) as site:
        assert "HTTP_REDIRECTS" == await code_of(url=site.url)

    assert 21 == len(site.received)


async def test_a_redirect_to_another_scheme_is_refused():
    async with http_site(lambda _: reply(302, Location="file:///etc/passwd")) as site:
        assert "HTTP_PROTOCOL" == await code_of(url=site.url)


async def test_no_header_that_may_be_secret_follows_a_redirect_to_another_origin():
    secrets = {"authorization": "Bearer abc", "x-api-key": "abc", "cookie": "abc"}
    harmless = {"accept": "text/plain"}

    async with (
        http_site(lambda _: reply()) as other,
        http_site(lambda _: reply(307, Location=other.url)) as site,
    ):
        await fetch(url=site.url, headers={**secrets, **harmless})

    seen = other.received[0].headers
    assert {} == {name: seen[name] for name in secrets if name in seen}
    assert "text/plain" == seen["accept"]


async def test_headers_follow_a_redirect_within_the_origin():
    def answer(request: Received) -> bytes:
        return reply(307, Location="/there") if request.target == "/" else reply()

    async with http_site(answer) as site:
        await fetch(url=site.url, headers={"x-api-key": "abc"})

    assert "abc" == site.received[1].headers["x-api-key"]


async def test_tls_is_verified_against_the_trusted_authorities(certificates: Certificates):
    async with http_site(lambda _: reply(body=b"safe"), tls=certificates.server) as site:
        answer = await fetch(HostHttp(certificates.client), url=site.url)

    assert b"safe" == answer.body


async def test_an_unknown_authority_is_a_tls_error(certificates: Certificates):
    async with http_site(lambda _: reply(), tls=certificates.server) as site:
        assert "HTTP_TLS" == await code_of(url=site.url)


async def test_tls_is_not_verified_when_told_so(certificates: Certificates):
    async with http_site(lambda _: reply(body=b"trusting"), tls=certificates.server) as site:
        answer = await fetch(url=site.url, verify_tls=False)

    assert b"trusting" == answer.body


async def test_errors_do_not_show_the_query():
    with pytest.raises(OutsideError) as caught:
        await fetch(url="http://127.0.0.1:1/?key=s3cret-word")

    assert "s3cret-word" not in str(caught.value)
