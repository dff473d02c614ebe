"""`call: grpc` of the Serverless Workflow DSL: a method of a .proto file, compiled when called."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from onward.kernel.lru import Lru
from onward.kernel.outcome import Failed, NodeError, Succeeded
from onward.nodes.auth.policy import Authentication
from onward.nodes.auth.send import authorization_of
from onward.nodes.failures import RefusedError, bad_request, failure_of, import_optional
from onward.nodes.serverless.fetched_documents import ResourceLocation, fetch_text
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import OutsideError
from onward.subprocesses import Subprocess

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
_LONGEST_DETAIL = 2_000
_MOST_FILES = 50
_LONGEST_PROBLEM = 1_000
_pools: Lru[bytes, tuple[Any, str]] = Lru(_MOST_FILES)
"""Compiled files, each with its package."""


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
        except (RefusedError, OutsideError) as problem:
            return failure_of(problem)

    async def _call(self, tools: Tools, method: GrpcMethod) -> Succeeded | Failed:
        grpc, as_json = (
            import_optional("grpc", "grpc"),
            import_optional("google.protobuf.json_format", "grpc"),
        )

        request = self._request(method)
        metadata = [("idempotency-key", tools.idempotency_key)]
        if tools.traceparent:
            metadata.append(("traceparent", tools.traceparent))
        if header := await authorization_of(tools, self.authentication):
            metadata.append(("authorization", header))
        found: list[Any] = []
        try:
            async with self._channel() as channel:
                kind = channel.unary_stream if method.streams else channel.unary_unary
                call = kind(
                    method.path,
                    request_serializer=method.request_class.SerializeToString,
                    response_deserializer=method.answer_class.FromString,
                )
                answering = call(request, metadata=metadata)
                if method.streams:
                    found += [message async for message in answering]
                else:
                    found.append(await answering)
        except grpc.aio.AioRpcError as error:
            code = error.code().name
            text = f"{method.path} ended with {code}: {(error.details() or '')[:_LONGEST_DETAIL]}"
            return Failed(NodeError(text, "GRPC_STATUS", {"status": _STATUSES.get(code, 500)}))
        values = [
            as_json.MessageToDict(
                message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
            )
            for message in found
        ]
        return Succeeded(values if method.streams else values[0])

    def _request(self, method: GrpcMethod) -> Any:
        as_json = import_optional("google.protobuf.json_format", "grpc")
        try:
            return as_json.ParseDict(self.arguments or {}, method.request_class())
        except as_json.ParseError as problem:
            raise bad_request(f"the arguments do not fit: {problem}") from None

    def _channel(self) -> Any:
        grpc = import_optional("grpc", "grpc")
        port = self.service.port or _SECURE_PORT
        address = f"{self.service.host}:{port}"
        if port == _SECURE_PORT:
            return grpc.aio.secure_channel(address, grpc.ssl_channel_credentials())
        return grpc.aio.insecure_channel(address)


# -- methods of a .proto file --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GrpcMethod:
    """One method of a service, ready to be called."""

    path: str
    request_class: Any
    answer_class: Any
    """The classes of its messages."""
    streams: bool
    """Whether it answers with many messages."""


async def find_method(text: str, service: str, method: str) -> GrpcMethod:
    """Return a method of a service in the text of a .proto file. Raises RefusedError."""
    pool, package = await _pool(text)
    class_of = import_optional("google.protobuf.message_factory", "grpc").GetMessageClass
    found = None
    for name in dict.fromkeys((service, f"{package}.{service}" if package else service)):
        try:
            found = pool.FindServiceByName(name)
        except KeyError:
            continue
    if found is None:
        raise bad_request(f"the .proto file has no service {service[:60]!r}")
    described = found.methods_by_name.get(method)
    if described is None:
        known = ", ".join(found.methods_by_name)
        message = f"the service {service[:60]!r} has no method {method[:60]!r}: it has {known}"
        raise bad_request(message)
    if described.client_streaming:
        raise bad_request(f"{method!r} takes a stream of messages: only single ones can be sent")
    return GrpcMethod(
        path=f"/{found.full_name}/{method}",
        request_class=class_of(described.input_type),
        answer_class=class_of(described.output_type),
        streams=bool(described.server_streaming),
    )


async def _pool(text: str) -> tuple[Any, str]:
    key = sha256(text.encode()).digest()
    found = _pools.get(key)
    if found is None:
        found = await _compile(text)
        _pools.put(key, found)
    return found


async def _compile(text: str) -> tuple[Any, str]:
    """Return the file's descriptors and its package; the compiler runs in a process of its own."""
    import_optional("grpc_tools", "grpc")
    descriptors = import_optional("google.protobuf.descriptor_pb2", "grpc")
    pools = import_optional("google.protobuf.descriptor_pool", "grpc")

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
            problem = output.decode("utf-8", "replace").strip()[:_LONGEST_PROBLEM]
            raise bad_request(f"the .proto file cannot be compiled: {problem}")
        data = (Path(folder) / "service.set").read_bytes()
    files = descriptors.FileDescriptorSet.FromString(data).file
    pool = pools.DescriptorPool()
    for file in files:
        pool.Add(file)
    return pool, files[-1].package
