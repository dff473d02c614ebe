"""HTTP by httpx2: pooled connections, a deadline for the whole exchange and a cap on its size."""

from __future__ import annotations

import asyncio
import ssl
import time
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx2

from onward.ports.nodes.outside import Http, HttpAnswer, HttpRequest, OutsideError

_REDIRECTS_MAX = 20
# What may follow a redirect to another origin. Everything else may be a secret (an API key has no
# fixed name), and the new origin was chosen by the old one, not by the workflow.
_CROSS_ORIGIN = frozenset(
    {"accept", "accept-encoding", "accept-language", "content-length", "content-type"}
    | {"host", "transfer-encoding", "user-agent"}
)


class HostHttp:
    """The host's HTTP client. Create it anywhere, use it in one event loop, and `aclose` it.

    `trust` replaces the host's certificate authorities, for a private one.
    """

    def __init__(self, trust: ssl.SSLContext | None = None) -> None:
        self._trust = trust
        self._clients: dict[bool, httpx2.AsyncClient] = {}

    async def send(self, request: HttpRequest) -> HttpAnswer:
        started = time.perf_counter()
        try:
            async with asyncio.timeout(request.timeout_s):
                status, headers, body = await self._exchange(request)
        except TimeoutError:
            message = f"no complete answer within {request.timeout_s:g} s"
            raise OutsideError(message, "HTTP_TIMEOUT") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            # ValueError: h11 and idna refuse what they cannot put on the wire.
            raise _translate(error) from None
        duration_ms = round((time.perf_counter() - started) * 1000)
        return HttpAnswer(status=status, headers=headers, body=body, duration_ms=duration_ms)

    async def aclose(self) -> None:
        """Close every connection."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()

    async def _exchange(self, request: HttpRequest) -> tuple[int, dict[str, str], bytes]:
        client = self._client(request.verify_tls)
        url = httpx2.URL(request.url)
        if request.query:
            url = url.copy_with(params=[*url.params.multi_items(), *request.query])
        outgoing = client.build_request(
            request.method, url, headers=dict(request.headers), content=request.body
        )
        for _ in range(_REDIRECTS_MAX + 1):
            response = await client.send(outgoing, stream=True, auth=None)
            try:
                if not request.follow_redirects or response.next_request is None:
                    body = await _read(response, request)
                    return response.status_code, _join_values(response.headers), body
                outgoing = _follow(outgoing, response.next_request)
            finally:
                await response.aclose()
        raise OutsideError(f"more than {_REDIRECTS_MAX} redirects", "HTTP_REDIRECTS")

    def _client(self, verify_tls: bool) -> httpx2.AsyncClient:
        if verify_tls not in self._clients:
            verify: ssl.SSLContext | bool = (self._trust or True) if verify_tls else False
            client = httpx2.AsyncClient(
                verify=verify,
                # `send` limits the time of each exchange, and the worker how many run at once: a
                # second, smaller limit here would only make them time out in a queue.
                timeout=None,
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
                # One client serves every workflow: a cookie kept from one would leak to another.
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                headers={"user-agent": "onward"},
            )
            _close_cancelled_handshakes(client)
            self._clients[verify_tls] = client
        return self._clients[verify_tls]


def _close_cancelled_handshakes(client: httpx2.AsyncClient) -> None:
    """Have the client close a connection that is cancelled in the middle of its TLS handshake.

    It does so itself for errors alone: the socket would stay open until it is garbage. There is no
    public way to the streams of a client; where this one is missing, all else works without it.
    """
    pool = getattr(client._transport, "_pool", None)
    backend = getattr(pool, "_network_backend", None)
    if backend is None:
        return
    connect = backend.connect_tcp

    async def connect_tcp(*arguments: Any, **options: Any) -> Any:
        stream = await connect(*arguments, **options)
        start = stream.start_tls

        async def start_tls(*arguments: Any, **options: Any) -> Any:
            try:
                return await start(*arguments, **options)
            except asyncio.CancelledError:
                await stream.aclose()
                raise

        stream.start_tls = start_tls
        return stream

    backend.connect_tcp = connect_tcp


async def _read(response: httpx2.Response, request: HttpRequest) -> bytes:
    """Read the body, unpacked; stop when it is too large, or when the time to read it is over."""
    body = bytearray()
    reading = asyncio.timeout(request.linger_s)
    try:
        async with reading:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > request.max_bytes:
                    message = f"the answer is larger than {request.max_bytes} bytes"
                    raise OutsideError(f"{message}: raise `max_bytes` to take it", "HTTP_TOO_LARGE")
    except TimeoutError:
        if not reading.expired():
            raise
    return bytes(body)


def _join_values(headers: httpx2.Headers) -> dict[str, str]:
    return {name.lower(): headers[name] for name in headers}


def _follow(before: httpx2.Request, after: httpx2.Request) -> httpx2.Request:
    old, new = before.url, after.url
    upgraded = (old.scheme, new.scheme) == ("http", "https") and old.host == new.host
    if not upgraded and (old.scheme, old.host, old.port) != (new.scheme, new.host, new.port):
        for name in set(after.headers) - _CROSS_ORIGIN:
            del after.headers[name]
    return after


def _translate(error: Exception) -> OutsideError:
    """Return the port's error. Its text holds no URL, which may carry a secret in its query."""
    match error:
        case httpx2.TimeoutException():
            return OutsideError("the connection timed out", "HTTP_TIMEOUT")
        case httpx2.ConnectError() if isinstance(_root(error), ssl.SSLError):
            reason = getattr(_root(error), "verify_message", "") or "the handshake failed"
            return OutsideError(f"TLS: {reason}", "HTTP_TLS")
        case httpx2.ConnectError() | httpx2.ProxyError():
            return OutsideError(f"cannot connect: {_root(error)}", "HTTP_CONNECT")
        case httpx2.NetworkError():
            return OutsideError("the connection broke off", "HTTP_CONNECT")
        case httpx2.UnsupportedProtocol():
            return OutsideError("the answer redirects to something not http", "HTTP_PROTOCOL")
        case httpx2.InvalidURL() | ValueError():
            return OutsideError("the URL or a header cannot be sent as it is", "HTTP_PROTOCOL")
        case httpx2.DecodingError():
            return OutsideError("the answer's content encoding is damaged", "HTTP_PROTOCOL")
        case _:
            return OutsideError(f"the answer breaks HTTP: {error}", "HTTP_PROTOCOL")


def _root(error: BaseException) -> BaseException:
    """Return the first cause of `error`: the operating system's or the TLS library's own."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


_conforms: type[Http] = HostHttp
