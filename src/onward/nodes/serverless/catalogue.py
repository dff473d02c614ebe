"""The node types of the Serverless Workflow DSL, by the names that documents use."""

from __future__ import annotations

from onward.nodes.serverless.a2a import CallA2a
from onward.nodes.serverless.asyncapi import CallAsyncapi
from onward.nodes.serverless.events import Authorize, EmitEvent, Subscribe
from onward.nodes.serverless.grpc import CallGrpc
from onward.nodes.serverless.http import CallHttp
from onward.nodes.serverless.mcp import CallMcp
from onward.nodes.serverless.openapi import CallOpenapi
from onward.nodes.serverless.run import RunContainer, RunScript, RunShell, RunWorkflow
from onward.ports.nodes.node import Catalogue


def _calls() -> Catalogue:
    catalogue = Catalogue()
    catalogue.register("a2a")(CallA2a)
    catalogue.register("asyncapi")(CallAsyncapi)
    catalogue.register("authorize")(Authorize)
    catalogue.register("emit")(EmitEvent)
    catalogue.register("grpc")(CallGrpc)
    catalogue.register("http")(CallHttp)
    catalogue.register("mcp")(CallMcp)
    catalogue.register("openapi")(CallOpenapi)
    catalogue.register("container")(RunContainer)
    catalogue.register("script")(RunScript)
    catalogue.register("shell")(RunShell)
    catalogue.register("subscribe")(Subscribe)
    catalogue.register("workflow")(RunWorkflow)
    return catalogue


calls = _calls()
