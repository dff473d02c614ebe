"""The description: every route, each with an example that is what it says it is."""

import jsonschema_rs
import pytest
from fastapi.routing import APIRoute

from onward.api.app import make_app
from onward.api.http.identity import Access
from onward.api.openapi import EXAMPLES, operations


@pytest.fixture
async def whole(local):
    return (await local.client.get("/openapi.json")).json()


async def test_every_route_is_described(local, whole):
    app = make_app(local.backend, Access())
    routes = {(method, route.path) for route in _routes(app) for method in route.methods}
    described = {
        (method.upper(), path.removeprefix("/api/v1"))
        for path, some in whole["paths"].items()
        for method in some
    }

    assert "3.1.0" == whole["openapi"]
    assert routes == described
    assert len(routes) >= 35


async def test_every_operation_has_words_an_example_and_its_problems(whole):
    names = [operation["operationId"] for operation in operations(whole)]
    lacking = [
        operation["operationId"]
        for operation in operations(whole)
        if not (operation.get("summary") and operation.get("description"))
        or not {"4XX", "5XX"} <= set(operation["responses"])
    ]

    assert sorted(EXAMPLES) == sorted(names)
    assert [] == lacking


async def test_every_example_is_what_its_schema_says(whole):
    checked, wrong = 0, []
    for operation in operations(whole):
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for content in (c for body in bodies for c in body.get("content", {}).values()):
            if "example" not in content:
                continue
            streamed = "itemSchema" in content
            schema = content["itemSchema"] if streamed else content["schema"]
            validator = jsonschema_rs.validator_for({**schema, "components": whole["components"]})
            for value in _events(content["example"]) if streamed else [content["example"]]:
                checked += 1
                errors = validator.iter_errors(value)
                wrong += [(operation["operationId"], str(error)) for error in errors]

    assert [] == wrong
    assert checked > len(list(operations(whole)))


def _events(text):
    """Return the events of a stream."""
    return [
        dict(line.split(": ", 1) for line in block.splitlines())
        for block in text.strip().split("\n\n")
        if "data: " in block
    ]


async def test_every_parameter_is_described(whole):
    assert [] == [
        (operation["operationId"], parameter["name"])
        for operation in operations(whole)
        for parameter in operation.get("parameters", [])
        if not parameter.get("description")
    ]


def _routes(app):
    """Return the routes of the routers of an application."""
    routers = [route.original_router for route in app.routes if hasattr(route, "original_router")]
    found = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
    return [one for one in found if one.include_in_schema]  # the description is not in itself
