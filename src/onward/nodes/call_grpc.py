"""`call: grpc` of the Serverless Workflow DSL: a method, by its .proto file."""

from __future__ import annotations

from typing import Any

import msgspec

from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.nodes.authentication import Authentication
from onward.nodes.calling import authorization
from onward.nodes.optional import optional
from onward.nodes.protos import Method, find_method
from onward.nodes.refused import Refused
from onward.nodes.resources import Endpoint, fetch_text
from onward.ports.node import Tools
from onward.ports.outside import OutsideError

_SECURE_PORT = 443
# What a status of gRPC is as one of HTTP.
_STATUSES = {
    "CANCELLED": 499,
    "INVALID_ARGUMENT": 400,
    "DEADLINE_EXCEEDED": 504,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "PERMISSION_DENIED": 403,
    "RESOURCE_EXHAUSTED": 429,
    "FAILED_PRECONDITION": 400,
    "ABORTED": 409,
    "OUT_OF_RANGE": 400,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "UNAUTHENTICATED": 401,
}
_LONGEST = 2_000


class GrpcService(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A service and where it is; port 443 is spoken to over TLS."""

    name: str
    host: str
    port: int | None = None


class CallGrpc(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Call a method of a gRPC service; the output is its answer, or the list of its answers.

    Fields are called as in the .proto file, and those that were not sent have their defaults.
    """

    proto: Endpoint
    service: GrpcService
    method: str
    arguments: dict[str, Any] | None = None
    authentication: Authentication | None = None

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Call it once."""
        try:
            text = await fetch_text(tools, self.proto)
            method = await find_method(text, self.service.name, self.method)
            return await self._call(tools, method)
        except Refused as verdict:
            return Failed(NodeError(str(verdict), verdict.code))
        except OutsideError as error:
            return Failed(NodeError(str(error), error.code))

    async def _call(self, tools: Tools, method: Method) -> Succeeded | Failed:
        grpc, as_json = optional("grpc", "grpc"), optional("google.protobuf.json_format", "grpc")

        request = self._request(method)
        metadata = [("idempotency-key", tools.idempotency_key)]
        if tools.traceparent:
            metadata.append(("traceparent", tools.traceparent))
        if who := await authorization(tools, self.authentication):
            metadata.append(("authorization", who))
        found: list[Any] = []
        try:
            async with self._channel() as channel:
                kind = channel.unary_stream if method.streams else channel.unary_unary
                ask = kind(
                    method.path,
                    request_serializer=method.asks.SerializeToString,
                    response_deserializer=method.answers.FromString,
                )
                under_way = ask(request, metadata=metadata)
                if method.streams:
                    async for one in under_way:
                        found.append(one)
                else:
                    found.append(await under_way)
        except grpc.aio.AioRpcError as error:
            code = error.code().name
            text = f"{method.path} ended with {code}: {(error.details() or '')[:_LONGEST]}"
            return Failed(NodeError(text, "GRPC_STATUS", {"status": _STATUSES.get(code, 500)}))
        values = [
            as_json.MessageToDict(
                one, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
            )
            for one in found
        ]
        return Succeeded(values if method.streams else values[0])

    def _request(self, method: Method) -> Any:
        as_json = optional("google.protobuf.json_format", "grpc")
        try:
            return as_json.ParseDict(self.arguments or {}, method.asks())
        except as_json.ParseError as problem:
            raise Refused(f"the arguments do not fit: {problem}", "HTTP_REQUEST") from None

    def _channel(self) -> Any:
        grpc = optional("grpc", "grpc")
        port = self.service.port or _SECURE_PORT
        address = f"{self.service.host}:{port}"
        if port == _SECURE_PORT:
            return grpc.aio.secure_channel(address, grpc.ssl_channel_credentials())
        return grpc.aio.insecure_channel(address)
