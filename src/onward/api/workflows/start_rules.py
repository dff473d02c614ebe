"""Routes of start rules: how runs of a workflow may start."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from onward.api.routing.routes import NO_CONTENT, Reply, Routes
from onward.api.views import Identifier
from onward.api.workflows.views import FlowGiven, FlowView
from onward.errors import NotThereError
from onward.ports.storage.start_rules import StartRule
from onward.runtime.backend import Backend
from onward.runtime.control.start_rules import check_rule
from onward.runtime.security.audit import note

Named = Annotated[Identifier, Meta(description="The workflow's id.")]


def start_rule_routes(backend: Backend) -> Routes:
    """Return the routes of start rules."""
    routes = Routes(prefix="/workflows", tags=["workflows"])
    rules = backend.steering.flow

    async def known(workflow_id: str) -> None:
        if await backend.registry.workflow(workflow_id) is None:
            raise NotThereError(f"there is no workflow called {workflow_id}")

    @routes.get("/{workflow_id}/flow", summary="Say how runs of a workflow may start")
    async def get_flow(workflow_id: Named) -> FlowView:
        """The rule that runs of a workflow start by."""
        await known(workflow_id)
        rule = await rules.rule(workflow_id)
        if rule is None:
            raise NotThereError(f"workflow {workflow_id} has no rule: its runs start at once")
        return _view(workflow_id, rule)

    @routes.put("/{workflow_id}/flow", summary="Set how runs of a workflow may start")
    async def set_flow(workflow_id: Named, given: FlowGiven) -> FlowView:
        """Set the rule. It counts for runs that are parked already; those that go on stay."""
        await known(workflow_id)
        rule = StartRule(**msgspec.structs.asdict(given))
        check_rule(rule)
        before = await rules.rule(workflow_id)
        await rules.set_rule(workflow_id, rule)
        note(f"flow of {workflow_id}", before, rule)
        return _view(workflow_id, rule)

    @routes.delete(
        "/{workflow_id}/flow", status=204, summary="Let runs of a workflow start at once"
    )
    async def drop_flow(workflow_id: Named) -> Reply:
        """Take the rule away. What is parked starts."""
        await known(workflow_id)
        before = await rules.rule(workflow_id)
        await rules.set_rule(workflow_id, None)
        note(f"flow of {workflow_id}", before, None)
        return NO_CONTENT

    return routes


def _view(workflow_id: str, rule: StartRule) -> FlowView:
    return FlowView(workflow_id=workflow_id, **msgspec.structs.asdict(rule))
