"""The frames of AMQP 0-9-1 that are sent for every message, as bytes.

The client library can make them too, through an object for each frame and each field; these are two
thirds of what it costs to publish. Everything rarer is left to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from struct import Struct

_METHOD, _HEADER, _BODY, _END = 1, 2, 3, b"\xce"
_BASIC, _PUBLISH, _ACK = 60, 40, 80
_MANDATORY = 1
_PERSISTENT = 2
_JSON = b"application/json"
# Which properties follow: content type, delivery mode, priority, correlation id.
_PROPERTIES = 0x8000 | 0x1000 | 0x0800 | 0x0400

_frame = Struct(">BHI")
_method = Struct(">HH")
_header = Struct(f">HHQHB{len(_JSON)}sBBB")
_ack = Struct(">BHIHHQBc")
_OVERHEAD = _frame.size + len(_END)
_ACK_BYTES = 13


def message(
    channel: int, queue: str, body: bytes, correlation: str, priority: int, frame_max: int
) -> bytes:
    """Return a persistent, mandatory message for `queue`: method, header and body."""
    about = correlation.encode()
    header = (
        _header.pack(
            *(_BASIC, 0, len(body), _PROPERTIES, len(_JSON), _JSON),
            *(_PERSISTENT, priority, len(about)),
        )
        + about
    )
    parts = [_publish(channel, queue), _frame.pack(_HEADER, channel, len(header)), header, _END]
    room = frame_max - _OVERHEAD
    for start in range(0, len(body), room):
        piece = body if len(body) <= room else body[start : start + room]
        parts += (_frame.pack(_BODY, channel, len(piece)), piece, _END)
    return b"".join(parts)


def acks(channel: int, tags: Iterable[int], up_to: int) -> bytes:
    """Return an acknowledgement for all deliveries up to one (0: none), and for each of some."""
    data = [_acknowledge(channel, up_to, multiple=True)] if up_to else []
    data += [_acknowledge(channel, tag, multiple=False) for tag in tags]
    return b"".join(data)


def _acknowledge(channel: int, tag: int, *, multiple: bool) -> bytes:
    return _ack.pack(_METHOD, channel, _ACK_BYTES, _BASIC, _ACK, tag, multiple, _END)


@lru_cache(maxsize=256)
def _publish(channel: int, queue: str) -> bytes:
    """Return the method frame: the default exchange, and the queue's name as the routing key."""
    key = queue.encode()
    arguments = b"\0\0" + b"\0" + bytes([len(key)]) + key + bytes([_MANDATORY])
    method = _method.pack(_BASIC, _PUBLISH) + arguments
    return _frame.pack(_METHOD, channel, len(method)) + method + _END
