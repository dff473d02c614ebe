"""The routes of triggers against requests made from their description, on triggers that exist."""

import asyncio

import pytest
import schemathesis
from schemathesis import GenerationMode

from api.documents import chain
from api.service import embedded, serving
from api.test_fuzz import _try

CRON = {"kind": "cron", "expression": "0 0 * * *"}
HOOK = {"kind": "webhook", "signature": "none"}
EXAMPLES = 15


# Runs that start meanwhile throw dice of their own, which Hypothesis takes for those of a strategy.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Do not use the `random` module")
async def test_requests_on_triggers_meet_what_the_description_says(tmp_path):
    async with embedded(tmp_path) as backend, serving(backend) as service:
        await service.create(chain())
        given = {"workflow_id": "hello", "trigger_id": "t", "settings": CRON}
        assert 201 == (await service.post("/triggers", given)).status_code
        hook = await service.post("/triggers", {**given, "trigger_id": "h", "settings": HOOK})
        known = {"trigger_id": "t", "path": hook.json()["settings"]["path"]}
        whole = (await service.client.get("/openapi.json")).json()
        tried = await asyncio.to_thread(_fuzz, whole, service.url, known)

    assert tried > 500


def _fuzz(whole, url, known):
    sent = 0
    for found in schemathesis.openapi.from_dict(whole).get_all_operations():
        operation = found.ok()
        if not ({"triggers"} & set(operation.tags or ())):
            continue
        names = {one.name for one in operation.path_parameters}
        existing = {name: value for name, value in known.items() if name in names}
        strategies = [operation.as_strategy(mode) for mode in GenerationMode]
        if existing and operation.method != "delete":
            strategies.append(operation.as_strategy(path_parameters=existing))
        for strategy in strategies:
            sent += _try(strategy, url, EXAMPLES)
    return sent
