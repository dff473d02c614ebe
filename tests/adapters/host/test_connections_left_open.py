"""Connections of the host are closed, whatever the other side does, in either event loop."""

import asyncio
import ssl
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import trustme

from onward.adapters.host.http import HostHttp
from onward.adapters.host.mail import HostMail
from onward.adapters.telemetry.endpoint import Endpoint, EndpointResponse
from onward.ports.nodes.outside import HttpRequest, MailServer, OutsideError
from support.leaks import every_loop, left_open

AUTHORITY = trustme.CA()
SERVER = Path(__file__).with_name("greeting_server.py")


def trusting():
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    return context


@contextmanager
def serving(greeting, folder, *, tls=False):
    """Serve connections that get a greeting and then nothing more; yield the port."""
    more = []
    if tls:
        more = [folder / "certificate.pem"]
        AUTHORITY.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(more[0])
    command = [sys.executable, SERVER, greeting, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


@every_loop
@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize(
    "greeting", ["", r"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12"], ids=["deaf", "stuck"]
)
def test_http_that_times_out_or_is_cancelled(loop_factory, tmp_path, tls, greeting):
    async def exchange():
        http = HostHttp(trusting())
        url = f"http{'s' * tls}://localhost:{port}/"
        with pytest.raises(OutsideError):
            await http.send(HttpRequest(method="GET", url=url, timeout_s=0.2))
        for seconds in (0, 0.001, 0.01, 0.1):
            task = asyncio.create_task(http.send(HttpRequest(method="GET", url=url)))
            await asyncio.sleep(seconds)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await http.aclose()

    with serving(greeting, tmp_path, tls=tls) as port:
        assert [] == left_open(exchange, loop_factory)


@every_loop
@pytest.mark.parametrize("turns", range(8))
def test_http_that_is_cancelled_in_its_handshake(loop_factory, tmp_path, turns):
    async def exchange():
        http = HostHttp(trusting())
        http._client(verify_tls=True)  # which takes longer than all the rest
        url = f"https://localhost:{port}/"
        task = asyncio.create_task(http.send(HttpRequest(method="GET", url=url)))
        for _ in range(turns):
            await asyncio.sleep(0.0005)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await http.aclose()

    with serving("", tmp_path, tls=True) as port:
        assert [] == left_open(exchange, loop_factory)


@every_loop
@pytest.mark.parametrize("tls", ["none", "tls"])
@pytest.mark.parametrize("greeting", ["", r"220 here\r\n", r"554 no\r\n"])
def test_mail_that_times_out_or_is_cancelled(loop_factory, tmp_path, tls, greeting):
    async def exchange():
        mail = HostMail(trusting())
        server = MailServer(host="localhost", port=port, tls=tls, timeout_s=0.2)
        with pytest.raises(OutsideError):
            await mail.send(server, "a@test.example", ["b@test.example"], b"\r\n")
        for seconds in (0, 0.001, 0.01, 0.1):
            task = asyncio.create_task(mail.greet(server))
            await asyncio.sleep(seconds)
            task.cancel()
            with suppress(asyncio.CancelledError, OutsideError):
                await task

    with serving(greeting, tmp_path, tls=tls == "tls") as port:
        assert [] == left_open(exchange, loop_factory)


@every_loop
def test_the_endpoint_is_closed_while_a_client_says_nothing(loop_factory):
    async def page():
        return EndpointResponse(200, "text/plain", b"")

    async def close_early():
        endpoint = Endpoint({"/live": page})
        host, port = await endpoint.open("127.0.0.1", 0)
        _, writer = await asyncio.open_connection(host, port)
        await asyncio.sleep(0.05)
        async with asyncio.timeout(2):
            await endpoint.close()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    assert [] == left_open(close_early, loop_factory)
