"""Forms in several parts (multipart/form-data), of plain values."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from onward.nodes.http_body import refused, text_of


def encode_parts(body: Any) -> tuple[bytes, str]:
    """Return the bytes of a form and its content type; each field is a part. Raises Refused."""
    if not isinstance(body, Mapping):
        raise refused("a form is made of an object, field by field")
    boundary = secrets.token_hex(16)
    parts = []
    for name, value in body.items():
        if any(character in name for character in '"\r\n'):
            raise refused(f"{name[:60]!r} cannot be the name of a field of a form")
        plain = not isinstance(value, list | Mapping)
        kind = "" if plain else "content-type: application/json\r\n"
        head = f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"\r\n{kind}\r\n'
        parts.append(f"{head}{text_of(value)}\r\n".encode())
    data = b"".join(parts) + f"--{boundary}--\r\n".encode()
    return data, f"multipart/form-data; boundary={boundary}"
