"""Routes of flow control: how runs of a workflow may start."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field

from onward.api.http.json_route import StrictRoute
from onward.api.views import Identifier, RequestBody
from onward.errors import NotThereError
from onward.ports.storage.start_rules import StartRule
from onward.runtime.backend import Backend
from onward.runtime.security.audit import note
from onward.runtime.start_gate import check_rule

Named = Annotated[Identifier, Path(description="The workflow's id.")]


class FlowGiven(RequestBody):
    """How runs of a workflow may start; every key is counted for itself."""

    key: str = Field(
        default="",
        max_length=1000,
        description="An expression on `$trigger`; empty: one key for the whole workflow.",
    )
    concurrency: int | None = Field(default=None, ge=1, le=1_000_000)
    rate: int | None = Field(default=None, ge=1, le=1_000_000, description="Starts in `per_ms`.")
    per_ms: int = Field(default=60_000, ge=100, le=86_400_000)
    singleton: bool = Field(
        default=False, description="While one has not ended, another is refused."
    )
    debounce_ms: int | None = Field(
        default=None,
        ge=1,
        le=86_400_000,
        description="A run waits so long, and gives way to another that comes meanwhile.",
    )


class FlowView(BaseModel):
    """How runs of a workflow may start."""

    workflow_id: str
    key: str
    concurrency: int | None
    rate: int | None
    per_ms: int
    singleton: bool
    debounce_ms: int | None


def flow_routes(backend: Backend) -> APIRouter:
    """Return the routes of flow control."""
    routes = APIRouter(prefix="/workflows", tags=["workflows"], route_class=StrictRoute)
    flow = backend.steering.flow

    async def known(workflow_id: str) -> None:
        if await backend.registry.workflow(workflow_id) is None:
            raise NotThereError(f"there is no workflow called {workflow_id}")

    @routes.get("/{workflow_id}/flow", summary="Say how runs of a workflow may start")
    async def get_flow(workflow_id: Named) -> FlowView:
        """The rule that runs of a workflow start by."""
        await known(workflow_id)
        rule = await flow.rule(workflow_id)
        if rule is None:
            raise NotThereError(f"workflow {workflow_id} has no rule: its runs start at once")
        return _view(workflow_id, rule)

    @routes.put("/{workflow_id}/flow", summary="Set how runs of a workflow may start")
    async def set_flow(workflow_id: Named, given: FlowGiven) -> FlowView:
        """Set the rule. It counts for runs that are parked already; those that go on stay."""
        await known(workflow_id)
        rule = StartRule(**given.model_dump())
        check_rule(rule)
        before = await flow.rule(workflow_id)
        await flow.set_rule(workflow_id, rule)
        note(f"flow of {workflow_id}", before, rule)
        return _view(workflow_id, rule)

    @routes.delete(
        "/{workflow_id}/flow", status_code=204, summary="Let runs of a workflow start at once"
    )
    async def drop_flow(workflow_id: Named) -> Response:
        """Take the rule away. What is parked starts."""
        await known(workflow_id)
        before = await flow.rule(workflow_id)
        await flow.set_rule(workflow_id, None)
        note(f"flow of {workflow_id}", before, None)
        return Response(status_code=204)

    return routes


def _view(workflow_id: str, rule: StartRule) -> FlowView:
    return FlowView(
        workflow_id=workflow_id,
        key=rule.key,
        concurrency=rule.concurrency,
        rate=rule.rate,
        per_ms=rule.per_ms,
        singleton=rule.singleton,
        debounce_ms=rule.debounce_ms,
    )
