"""A cluster of each test's own, watched."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from onward.bootstrap.cluster import ClusterSettings, open_cluster
from onward.bootstrap.host import now_ms
from onward.runtime.instrumentation import Instrumentation
from runtime.cluster.fleet import Fleet
from runtime.cluster.lab import Lab
from support.probe import Book, catalogue_with

Watched = Callable[[Instrumentation], AbstractAsyncContextManager[Lab]]


@pytest.fixture
def watched(rabbitmq_url, redis_url, postgres_url) -> Watched:
    """A laboratory whose processes tell a watch what they do."""

    @asynccontextmanager
    async def opened(watch: Instrumentation) -> AsyncIterator[Lab]:
        book = Book(now_ms, lambda: None)
        settings = ClusterSettings(
            rabbitmq_url=rabbitmq_url, redis_url=redis_url, postgres_url=postgres_url
        )
        catalogue = catalogue_with(book)
        async with open_cluster(settings, catalogue=catalogue, watch=watch) as cluster:
            lab = Lab(cluster, book)
            worker = cluster.worker()
            works = (worker.run(), cluster.scheduler().run(), cluster.master().run())
            async with lab.running(*works):
                yield lab
            await worker.drain(5)

    return opened


@pytest.fixture
def fleet(tmp_path, rabbitmq_url, redis_url, postgres_url):
    one = Fleet(tmp_path, rabbitmq_url, redis_url, postgres_url)
    yield one
    one.close()
