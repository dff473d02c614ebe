"""Every test has a cluster of its own: a virtual host, a Redis database, a PostgreSQL database."""

import os
from types import SimpleNamespace

import pytest

from onward.cli.main import main
from runtime.cluster.fleet import Fleet
from runtime.cluster.lab import idle_laboratory, laboratory


@pytest.fixture
async def lab(rabbitmq_url, redis_url, postgres_url):
    async with laboratory(rabbitmq_url, redis_url, postgres_url) as one:
        yield one


@pytest.fixture
async def idle(rabbitmq_url, redis_url, postgres_url):
    async with idle_laboratory(rabbitmq_url, redis_url, postgres_url) as one:
        yield one


@pytest.fixture
def fleet(tmp_path, rabbitmq_url, redis_url, postgres_url):
    one = Fleet(tmp_path, rabbitmq_url, redis_url, postgres_url)
    yield one
    one.close()


@pytest.fixture
def onward(fleet, monkeypatch, capfd):
    """A command on the cluster, in this process."""
    monkeypatch.chdir(fleet.folder)
    for name in [name for name in os.environ if name.startswith("ONWARD_")]:
        monkeypatch.delenv(name)

    def run(*words, **environment):
        with monkeypatch.context() as patch, pytest.raises(SystemExit) as ending:
            for name, value in {**fleet.places, **environment}.items():
                patch.setenv(name, value)
            main([str(word) for word in words])
        out, err = capfd.readouterr()
        return SimpleNamespace(code=ending.value.code, out=out, err=err)

    return run
