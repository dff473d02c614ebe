"""The API against requests made from its own description: no bug, and nothing it does not say."""

import asyncio
from contextlib import suppress

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, checks

from api.documents import chain, fan_out

EXAMPLES = {"embedded": 5, "distributed": 1}
"""Requests of each kind; what does not depend on the engine is tried on the faster one."""
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


# Minutes: `./weft check -m slow`. On the cluster other threads of this process
# use `random` meanwhile, which Hypothesis takes for the strategies' doing.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisDeprecationWarning")
async def test_requests_made_from_the_description_meet_what_it_says(service):
    examples = EXAMPLES[service.backend.kind]
    await service.create(chain())
    run = await service.start(fan_out(), {"items": [1, 2, 3]})
    await service.ended(run)
    whole = (await service.client.get("/openapi.json")).json()
    tried = await asyncio.to_thread(_fuzz, whole, service.url, run, examples)

    assert tried > 20 * examples


def _fuzz(whole, url, run, examples):
    """Try every operation that comes to an end; return how many requests were sent.

    Each is tried with requests that are right and wrong, and on a workflow and a run that exist.
    """
    schema = schemathesis.openapi.from_dict(whole)
    known = {"workflow_id": "hello", "execution_id": run, "number": 1, "name": "http"}
    sent = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path.endswith("/stream"):
            continue
        names = {one.name for one in operation.path_parameters}
        existing = {name: value for name, value in known.items() if name in names}
        strategies = [operation.as_strategy(mode) for mode in GenerationMode]
        if existing:
            strategies.append(operation.as_strategy(path_parameters=existing))
        for strategy in strategies:
            sent += _try(strategy, url, examples)
    return sent


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
        case.call_and_validate(base_url=url, checks=CHECKS)

    with suppress(Unsatisfiable):  # there is nothing that could be wrong
        attempt()
    return sent
