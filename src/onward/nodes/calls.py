"""What tasks of the Serverless Workflow DSL can call, by the names that documents use."""

from __future__ import annotations

from onward.nodes.call_a2a import CallA2a
from onward.nodes.call_asyncapi import CallAsyncapi
from onward.nodes.call_authorize import Authorize
from onward.nodes.call_events import EmitEvent, Subscribe
from onward.nodes.call_grpc import CallGrpc
from onward.nodes.call_http import CallHttp
from onward.nodes.call_mcp import CallMcp
from onward.nodes.call_openapi import CallOpenapi
from onward.nodes.call_run import RunContainer, RunScript, RunShell, RunWorkflow
from onward.ports.node import Catalogue


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
