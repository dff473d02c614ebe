"""`call: grpc` of the Serverless Workflow DSL: a method, by its .proto file."""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.nodes.auth.policy import Authentication
from onward.nodes.auth.send import authorization
from onward.nodes.failures import Refused, optional
from onward.nodes.serverless.fetched_documents import ResourceLocation, fetch_text
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import OutsideError
from onward.subprocesses import Subprocess

# -- Services that a .proto file describes, compiled when they are called.


_KEPT_MAX = 50
_LONGEST_PROTO = 1_000
_kept: OrderedDict[bytes, Any] = OrderedDict()


@dataclass(frozen=True, slots=True)
class Method:
    """One method of a service, ready to be called."""

    path: str
    asks: Any
    answers: Any
    """The classes of its messages."""
    streams: bool
    """Whether it answers with many messages."""


async def find_method(text: str, service: str, method: str) -> Method:
    """Return a method of a service in the text of a .proto file. Raises Refused."""
    pool, package = await _pool(text)
    class_of = optional("google.protobuf.message_factory", "grpc").GetMessageClass
    found = None
    for name in dict.fromkeys((service, f"{package}.{service}" if package else service)):
        try:
            found = pool.FindServiceByName(name)
        except KeyError:
            continue
    if found is None:
        raise Refused(f"the .proto file has no service {service[:60]!r}", "HTTP_REQUEST")
    one = found.methods_by_name.get(method)
    if one is None:
        known = ", ".join(found.methods_by_name)
        message = f"the service {service[:60]!r} has no method {method[:60]!r}: it has {known}"
        raise Refused(message, "HTTP_REQUEST")
    if one.client_streaming:
        message = f"{method!r} takes a stream of messages: only single ones can be sent"
        raise Refused(message, "HTTP_REQUEST")
    return Method(
        path=f"/{found.full_name}/{method}",
        asks=class_of(one.input_type),
        answers=class_of(one.output_type),
        streams=bool(one.server_streaming),
    )


async def _pool(text: str) -> tuple[Any, str]:
    key = sha256(text.encode()).digest()
    if key not in _kept:
        _kept[key] = await _compiled(text)
        while len(_kept) > _KEPT_MAX:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    found: tuple[Any, str] = _kept[key]
    return found


async def _compiled(text: str) -> tuple[Any, str]:
    """Return the file's descriptors and its package; the compiler runs in a process of its own."""
    optional("grpc_tools", "grpc")
    descriptors = optional("google.protobuf.descriptor_pb2", "grpc")
    pools = optional("google.protobuf.descriptor_pool", "grpc")

    with TemporaryDirectory(prefix="onward-proto-") as folder:
        (Path(folder) / "service.proto").write_text(text)
        compiler = await Subprocess.start(
            *(sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", "--include_imports"),
            *("--descriptor_set_out=service.set", "service.proto"),
            cwd=folder,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            output = await compiler.stderr.read() if compiler.stderr is not None else b""
            code = await compiler.wait()
        finally:
            await compiler.aclose()
        if code != 0:
            problem = output.decode("utf-8", "replace").strip()[:_LONGEST_PROTO]
            raise Refused(f"the .proto file cannot be compiled: {problem}", "HTTP_REQUEST")
        data = (Path(folder) / "service.set").read_bytes()
    files = descriptors.FileDescriptorSet.FromString(data).file
    pool = pools.DescriptorPool()
    for file in files:
        pool.Add(file)
    return pool, files[-1].package


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

    proto: ResourceLocation
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
