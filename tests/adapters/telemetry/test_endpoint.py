"""The endpoint of a process, asked by a real client and by rude ones."""

import asyncio

import httpx2
import pytest

from onward.adapters.telemetry.endpoint import Endpoint
from onward.bootstrap.telemetry import Telemetry
from onward.errors import InputError
from onward.ports.telemetry import RESTARTS


class Services:
    """Three services of which some may be away."""

    def __init__(self, **away):
        self.away = {"rabbitmq": None, "redis": None, "postgres": None, **away}
        self.asked = 0

    async def health(self):
        self.asked += 1
        return self.away

    def reconnects(self):
        return {"rabbitmq": 3}


@pytest.fixture
async def telemetry():
    one = Telemetry("worker", metrics=("127.0.0.1", 0))
    host, port = await one.open()
    one.url = f"http://{host}:{port}"
    yield one
    await one.close()


async def get(telemetry, path):
    async with httpx2.AsyncClient() as client:
        return await client.get(telemetry.url + path)


async def said(telemetry, data):
    """Return what the endpoint says to bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(telemetry.url.split(":")[2]))
    writer.write(data)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def test_a_process_is_alive_before_it_has_any_service(telemetry):
    assert 200 == (await get(telemetry, "/live")).status_code


async def test_a_process_that_is_starting_is_not_ready(telemetry):
    answer = await get(telemetry, "/ready")

    assert (503, "it is starting") == (answer.status_code, answer.json()["reason"])


async def test_with_all_services_it_is_ready(telemetry):
    telemetry.serving(Services())

    answer = await get(telemetry, "/ready")

    assert 200 == answer.status_code
    services = {"rabbitmq": "ok", "redis": "ok", "postgres": "ok"}
    assert {"ready": True, "services": services} == answer.json()


async def test_without_one_it_is_not_and_says_which_and_why(telemetry):
    telemetry.serving(Services(redis="Connection refused"))

    answer = await get(telemetry, "/ready")

    assert 503 == answer.status_code
    assert "Connection refused" == answer.json()["services"]["redis"]
    assert "ok" == answer.json()["services"]["postgres"]


async def test_many_probes_ask_the_services_once(telemetry):
    services = Services()
    telemetry.serving(services)

    await asyncio.gather(*(get(telemetry, "/ready") for _ in range(5)))

    assert 1 == services.asked


async def test_after_an_outage_it_is_not_ready_and_counts_it(telemetry):
    telemetry.serving(Services())
    telemetry.away("PostgreSQL is gone", outage=True)

    answer, numbers = await get(telemetry, "/ready"), (await get(telemetry, "/metrics")).text

    assert (503, "PostgreSQL is gone") == (answer.status_code, answer.json()["reason"])
    assert f"{RESTARTS.name} 1.0" in numbers
    assert 'onward_reconnects_total{service="rabbitmq"} 3.0' in numbers


async def test_what_the_numbers_are_is_said_in_the_header(telemetry):
    answer = await get(telemetry, "/metrics")

    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "onward_build_info{" in answer.text


async def test_another_page_is_not_found_and_the_pages_are_named(telemetry):
    answer = await get(telemetry, "/")

    assert (404, True) == (answer.status_code, "/live, /ready, /metrics" in answer.text)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"POST /live HTTP/1.1\r\n\r\n", b"405"),
        (b"\x16\x03\x01\x02\r\n\r\n", b"400"),
        (b"GET /live\r\n\r\n", b"400"),
    ],
)
async def test_what_is_no_get_is_refused(telemetry, data, status):
    assert status == (await said(telemetry, data)).split()[1]


@pytest.mark.parametrize("data", [b"", b"GET /li", b"GET /" + 100_000 * b"a"])
async def test_what_is_no_request_is_let_go(telemetry, data):
    assert b"" == await said(telemetry, data)
    assert 200 == (await get(telemetry, "/live")).status_code


async def test_head_is_answered_without_a_body(telemetry):
    head, _, body = (await said(telemetry, b"HEAD /live HTTP/1.1\r\n\r\n")).partition(b"\r\n\r\n")

    assert (b"HTTP/1.1 200 OK", b"") == (head.splitlines()[0], body)


async def test_an_address_in_use_is_one_clear_line(telemetry):
    port = int(telemetry.url.split(":")[2])

    with pytest.raises(InputError, match=f"--metrics 127.0.0.1:{port}: cannot listen there"):
        await Telemetry("worker", metrics=("127.0.0.1", port)).open()


async def test_a_host_that_is_none_is_one_clear_line():
    with pytest.raises(InputError, match=r"--metrics no\.such\.host\.invalid:1: cannot listen"):
        await Telemetry("worker", metrics=("no.such.host.invalid", 1)).open()


@pytest.mark.parametrize("url", ["localhost:4318", "ftp://x", "http://", "grpc://host:4317"])
def test_a_collector_that_is_no_url_is_one_clear_line(url):
    with pytest.raises(InputError, match="not the URL of an OTLP/HTTP collector"):
        Telemetry("worker", otel=url)


async def test_a_page_that_fails_is_an_answer_and_not_the_end():
    async def broken():
        raise ValueError("no numbers today")

    endpoint = Endpoint({"/": broken})
    host, port = await endpoint.open("127.0.0.1", 0)
    async with httpx2.AsyncClient() as client:
        first = await client.get(f"http://{host}:{port}/")
        second = await client.get(f"http://{host}:{port}/")
    await endpoint.close()

    assert [500, 500] == [first.status_code, second.status_code]
    assert "ValueError: no numbers today\n" == first.text
