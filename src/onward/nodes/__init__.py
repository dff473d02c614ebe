"""The nodes that touch the world: each is a struct of its parameters with an `async def run`.

    graph/        node types of the graph language: http, smtp, workflow
    serverless/   what tasks of the Serverless Workflow DSL call: http, openapi, grpc, mcp ...
    http/         URL, headers, body and request of an HTTP call, for both
    auth/         authentication policies: basic, digest, OAuth 2, OpenID Connect
    failures      parameters that make no request, and how a failure becomes an outcome

A node reaches the world only through its `Tools` (`onward.ports.nodes`), never raises for what can
happen, and decides nothing about retries. It may import no language, no adapter and no runtime.
"""
