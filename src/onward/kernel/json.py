"""JSON at the engine's edges: one encoder, one decoder, one error for what is refused."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Raw

from onward.errors import MessageError

MAX_DEPTH = 500
"""Deeper nesting is refused: it breaks readers long before it holds information."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()

NULL = Raw(b"null")

_FLAT_LEVELS = 12
_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_brackets = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[{\]}]', re.DOTALL)


def encode(value: Any) -> Raw:
    """Return `value` as JSON bytes, or raise MessageError saying why it is not JSON."""
    try:
        data = _encoder.encode(value)
    except UnicodeEncodeError:
        raise MessageError("text holds a lone surrogate, which is not Unicode text") from None
    except RecursionError:
        raise MessageError(f"value is nested deeper than {MAX_DEPTH} levels") from None
    except (TypeError, OverflowError, ValueError, msgspec.EncodeError) as problem:
        raise MessageError(f"value is not JSON: {problem}") from None
    if is_too_deep(data):
        raise MessageError(f"value is nested deeper than {MAX_DEPTH} levels")
    return Raw(data)


def is_too_deep(data: bytes) -> bool:
    """Return whether JSON bytes nest deeper than is allowed.

    Few brackets are never too deep. Of many, only the brackets and quotes are looked at; a string
    without brackets is then two adjacent quotes, and is removed. Then brackets inside strings are
    removed, and innermost pairs, one level at a time: most data is flat, so that few are left to
    count one by one.
    """
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return False
    if b"\\" in data:
        data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    brackets = data.translate(_SQUARE, _NO_BRACKETS).replace(b'""', b"")
    if b'"' in brackets:
        brackets = b"".join(brackets.split(b'"')[::2])
    for _ in range(_FLAT_LEVELS):
        brackets = brackets.replace(b"[]", b"")
    return depth_of(brackets) > MAX_DEPTH - _FLAT_LEVELS


def decode(data: bytes | Raw) -> Any:
    """Return the value of JSON bytes, or raise MessageError with the reason."""
    try:
        return _decoder.decode(data)
    except RecursionError:
        raise MessageError(f"JSON is nested deeper than {MAX_DEPTH} levels") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise MessageError(f"not JSON: {problem}") from None


def join_array(parts: list[bytes]) -> Raw:
    """Return a JSON array of already encoded values, without decoding any."""
    return Raw(b"[" + b",".join(parts) + b"]")


def depth_of(data: bytes) -> int:
    """Return how deeply brackets nest in JSON bytes, without building the value.

    So hostile nesting is refused before a recursive reader sees it.
    """
    depth = deepest = 0
    for found in _brackets.finditer(data):
        byte = found[0][0]
        if byte == 0x22:  # a whole string: brackets inside it are text
            continue
        depth += 1 if byte in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest
