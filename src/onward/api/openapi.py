"""The OpenAPI of the application, with our problems and an example for every operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from onward.api.http.models import model_of
from onward.api.operations.examples import EXAMPLES as OPERATION_EXAMPLES
from onward.api.routing.examples import Example
from onward.api.routing.permissions import permission_of
from onward.api.routing.refusals import MEDIA_TYPE
from onward.api.runs.examples import EXAMPLES as RUN_EXAMPLES
from onward.api.security.examples import EXAMPLES as SECURITY_EXAMPLES
from onward.api.triggers.examples import EXAMPLES as TRIGGER_EXAMPLES
from onward.api.views import Problem
from onward.api.workflows.examples import EXAMPLES as WORKFLOW_EXAMPLES

EXAMPLES: dict[str, Example] = {
    **WORKFLOW_EXAMPLES,
    **RUN_EXAMPLES,
    **TRIGGER_EXAMPLES,
    **OPERATION_EXAMPLES,
    **SECURITY_EXAMPLES,
}
"""An example for every operation, by its name."""

_ABOUT = """The service a team talks to: workflows, runs, live progress, history.

Every refusal is `application/problem+json` (RFC 9457) with a `code`. Lists come in pages: give
`next_cursor` of one page as `cursor` of the next. Changes take `If-Match` with an ETag.
"""


def describe_app(app: FastAPI, *, token: bool) -> None:
    """Let the application describe itself."""
    whole: dict[str, Any] = {}

    def openapi() -> dict[str, Any]:
        if not whole:
            whole.update(_described(app, token))
        return whole

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to change it


def _described(app: FastAPI, token: bool) -> dict[str, Any]:
    whole = get_openapi(
        title=app.title,
        version=app.version,
        openapi_version="3.1.0",
        description=_ABOUT,
        routes=app.routes,
    )
    schemas = whole["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas.update(_problem_schemas())
    for operation in operations(whole):
        operation["responses"].pop("422", None)
        operation["responses"]["4XX"] = _problem("The request is refused.")
        operation["responses"]["5XX"] = _problem("The server cannot do it now.")
        _exemplify(operation)
        operation["x-onward-role"] = permission_of(operation["operationId"]).role
        if token and operation["x-onward-role"] is None:
            operation["security"] = []
    if token:
        whole["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        whole["security"] = [{"token": []}]
    return whole


def operations(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Iterate over every operation of an OpenAPI."""
    for path in whole["paths"].values():
        yield from path.values()


def _problem_schemas() -> dict[str, Any]:
    schema = model_of(Problem).model_json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs", {}), "Problem": schema}


def _problem(description: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": {MEDIA_TYPE: {"schema": schema}}}


def _exemplify(operation: dict[str, Any]) -> None:
    example = EXAMPLES[operation["operationId"]]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None:
        body["example"] = example.given
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            for content in answer.get("content", {}).values():
                content["example"] = example.answer
