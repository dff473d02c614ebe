"""A gRPC service on this machine, from its .proto file alone."""

from __future__ import annotations

from typing import Any

import grpc

from onward.nodes.serverless.grpc import find_method

PROTO = """
syntax = "proto3";
package demo;
message Asked { string name = 1; int32 times = 2; }
message Answer { string text = 1; string note = 2; }
service Greeter {
  rpc Greet(Asked) returns (Answer);
  rpc Stream(Asked) returns (stream Answer);
  rpc Collect(stream Asked) returns (Answer);
}
"""


async def start_greeter() -> tuple[Any, int]:
    """Return a server that is running, and its port."""
    greet = await find_method(PROTO, "Greeter", "Greet")

    async def once(asked: Any, context: Any) -> Any:
        if not asked.name:
            await context.abort(grpc.StatusCode.NOT_FOUND, "nobody")
        who = dict(context.invocation_metadata()).get("authorization", "")
        text = " ".join([f"Hello {asked.name}"] * asked.times)
        return greet.answer_class(text=text, note=who)

    async def often(asked: Any, context: Any) -> Any:
        for _ in range(asked.times):
            yield greet.answer_class(text=f"Hello {asked.name}")

    reads = {
        "request_deserializer": greet.request_class.FromString,
        "response_serializer": greet.answer_class.SerializeToString,
    }
    methods = {
        "Greet": grpc.unary_unary_rpc_method_handler(once, **reads),
        "Stream": grpc.unary_stream_rpc_method_handler(often, **reads),
    }
    server = grpc.aio.server()
    handlers = grpc.method_handlers_generic_handler("demo.Greeter", methods)
    server.add_generic_rpc_handlers((handlers,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    return server, port
