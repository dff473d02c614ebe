"""Deterministic ids: the same step always yields the same ids.

A redelivered message repeats its work, and because every id is a hash of its origin, the repetition
meets its own earlier effects instead of making new ones.
"""

from __future__ import annotations

from hashlib import blake2b


def derive(*parts: str | int) -> str:
    """Return a 128-bit id for the given path of parts."""
    text = "\x1f".join(map(str, parts))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def fingerprint(data: bytes) -> str:
    """Return the content address of `data`."""
    return blake2b(data, digest_size=32).hexdigest()
