"""The API against requests made from its own description: no bug, and nothing it does not say."""

import asyncio
from contextlib import suppress

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, checks

from api.documents import chain, fan_out, waiting
from api.test_approvals import asking, links
from api.test_signals import KEY

FEW = {"embedded": 1, "distributed": 1}
"""Requests of each kind for a plain run."""
MANY = {"embedded": 40, "distributed": 15}
"""What does not depend on the engine is tried more often on the faster one."""
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
ENDLESS = "/api/v1/events/stream"
"""What is streamed there ends only when the client leaves: test_streams.py."""
ENDS = "/api/v1/runs/{execution_id}/events/stream"


# On the cluster other threads of this process use `random` meanwhile, and so do runs that start,
# which Hypothesis takes for the strategies' doing.
@pytest.mark.timeout(1800)
@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisDeprecationWarning")
@pytest.mark.filterwarnings("ignore:Do not use the `random` module")
@pytest.mark.parametrize(
    "examples", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"]
)
async def test_requests_made_from_the_description_meet_what_it_says(service, examples, key):
    many = examples[service.backend.kind]
    known = await _make_things(service)
    whole = (await service.client.get("/openapi.json")).json()
    tried = await asyncio.to_thread(_fuzz, whole, service.url, known, many)

    assert tried > 200 * many


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("ONWARD_KEY", KEY)


async def _make_things(service):
    """Make one of everything that a path can name; return the names, of which some have two."""
    await service.create(chain())
    ended = await service.start(fan_out(), {"items": [1, 2, 3]})
    await service.ended(ended)
    going = await service.start(waiting())
    asked = (await links(service, await service.start(asking())))["ada"]
    schedule = {"kind": "cron", "expression": "0 0 * * *"}
    hook = {"kind": "webhook", "signature": "none"}
    hooks = [
        await _made(service, "/triggers", trigger_id=name, workflow_id="hello", settings=how)
        for name, how in (("t", schedule), ("h", hook))
    ]
    await _made(service, "/users", name="ada", password="correct horse battery", role="viewer")
    token = await _made(service, "/tokens", name="tests", role="viewer")
    # Of this type none can be tried, so no request leaves this machine.
    await _made(service, "/credentials", name="c", type="generic", fields={"a": "b"})
    return {
        "workflow_id": ["hello"],
        "execution_id": [ended, going],
        "number": [1],
        "name": ["http"],
        "split": ["each"],
        "signal": ["go"],
        "link": [asked.rpartition("/")[2]],
        "trigger_id": ["t", "h"],
        "path": [hooks[1]["settings"]["path"]],
        "user_name": ["ada"],
        "token_id": [token["token_id"]],
        "credential": ["c"],
    }


async def _made(service, path, **given):
    answer = await service.post(path, given)
    assert 201 == answer.status_code, answer.text
    return answer.json()


def _fuzz(whole, url, known, examples):
    """Try every operation that comes to an end; return how many requests were sent.

    Each is tried with requests that are right and wrong, and on things that exist: last of all
    those that take them away.
    """
    found = [
        operation.ok() for operation in schemathesis.openapi.from_dict(whole).get_all_operations()
    ]
    operations = [one for one in found if one.path != ENDLESS]
    operations.sort(key=lambda one: one.method == "delete" or one.path.endswith(":cancel"))
    sent = 0
    for operation in operations:
        strategies = [operation.as_strategy(mode) for mode in GenerationMode]
        strategies += [
            operation.as_strategy(path_parameters=existing)
            for existing in _existing(operation, known)
        ]
        for strategy in strategies:
            sent += _try(strategy, url, examples)
    return sent


def _existing(operation, known):
    """Return what to give for the parameters of a path, so that it leads somewhere."""
    names = [parameter.name for parameter in operation.path_parameters]
    assert set(names) <= set(known), f"make a thing for {names} to name"
    choices = max((len(known[name]) for name in names), default=0)
    if operation.path == ENDS:
        choices = 1  # the run that has ended
    return [{name: known[name][n % len(known[name])] for name in names} for n in range(choices)]


def _try(strategy, url, examples):
    sent = 0

    @settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def attempt(case):
        nonlocal sent
        sent += 1
        case.call_and_validate(base_url=url, checks=CHECKS, timeout=60)

    with suppress(Unsatisfiable):  # there is nothing that could be wrong
        attempt()
    return sent
