"""Every test of a route runs twice: on the embedded engine, and on a cluster."""

import os

import pytest

from adapters.host.servers import certificates
from api.service import distributed, embedded, serving

__all__ = ["certificates"]

KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="


@pytest.fixture(params=["embedded", "distributed"])
def place(request, tmp_path):
    """A folder, or the three services, for this test alone."""
    if request.param == "embedded":
        return tmp_path
    if "ONWARD_KEY" not in os.environ:  # there is no key file that all processes of a cluster share
        request.getfixturevalue("monkeypatch").setenv("ONWARD_KEY", KEY)
    return [request.getfixturevalue(f"{one}_url") for one in ("rabbitmq", "redis", "postgres")]


@pytest.fixture
async def backend(place):
    async with distributed(*place) if isinstance(place, list) else embedded(place) as one:
        yield one


@pytest.fixture
async def service(backend):
    async with serving(backend) as one:
        yield one


@pytest.fixture
async def local(tmp_path):
    """A service on the embedded engine alone, for what does not depend on it."""
    async with embedded(tmp_path) as backend, serving(backend) as one:
        yield one
