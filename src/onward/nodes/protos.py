"""Services that a .proto file describes, compiled when they are called."""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from onward.nodes.optional import optional
from onward.nodes.refused import Refused

_KEPT_MAX = 50
_LONGEST = 1_000
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
        compiler = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", "--include_imports"),
            *("--descriptor_set_out=service.set", "service.proto"),
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            _, said = await compiler.communicate()
        except asyncio.CancelledError:
            compiler.kill()
            await compiler.wait()
            raise
        if compiler.returncode != 0:
            problem = said.decode("utf-8", "replace").strip()[:_LONGEST]
            raise Refused(f"the .proto file cannot be compiled: {problem}", "HTTP_REQUEST")
        data = (Path(folder) / "service.set").read_bytes()
    files = descriptors.FileDescriptorSet.FromString(data).file
    pool = pools.DescriptorPool()
    for one in files:
        pool.Add(one)
    return pool, files[-1].package
