"""The command on a cluster of its own, and what lies in its quarantine."""

import base64
import json
import os
from types import SimpleNamespace

import pytest

from onward.cli.main import main
from onward.runtime.queues import QUARANTINE
from runtime.cluster.lab import publish


@pytest.fixture
def onward(tmp_path, monkeypatch, capfd, rabbitmq_url, redis_url, postgres_url):
    """A command on the cluster, in this process."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("ONWARD_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ONWARD_RABBITMQ_URL", rabbitmq_url)
    monkeypatch.setenv("ONWARD_REDIS_URL", redis_url)
    monkeypatch.setenv("ONWARD_POSTGRES_URL", postgres_url)

    def run(*words):
        with pytest.raises(SystemExit) as ending:
            main([str(word) for word in words])
        out, err = capfd.readouterr()
        return SimpleNamespace(code=ending.value.code, out=out, err=err)

    return run


@pytest.fixture
def aside(onward, rabbitmq_url):
    """Put messages into quarantine, each `(run, reason, body)`."""
    assert 0 == onward("quarantine", "ls").code  # makes the queues

    def put(*messages):
        for run, reason, body in messages:
            kept = {
                "reason": reason,
                "at": "2030-01-01T00:00:00.000Z",
                "execution_id": run,
                "body": base64.b64encode(body).decode(),
            }
            publish(rabbitmq_url, QUARANTINE, json.dumps(kept).encode())

    return put
