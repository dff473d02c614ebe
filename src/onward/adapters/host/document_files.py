"""Files and pages that a document refers to, fetched once, before it runs."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx2

_MOST_BYTES = 1024 * 1024
_TIMEOUT_S = 10.0


class FetchError(Exception):
    """A file or page cannot be fetched; the text says why."""


def fetch(uri: str) -> str:
    """Return the text at a `file`, `http` or `https` URI; raises FetchError."""
    parts = urlsplit(uri)
    try:
        local = parts.scheme == "file"
        return (_file(Path(unquote(parts.path))) if local else _page(uri)).decode()
    except OSError as problem:
        raise FetchError(problem.strerror or "it cannot be read") from None
    except UnicodeDecodeError:
        raise FetchError("it is not text") from None


def _file(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise FetchError(f"it is larger than {_MOST_BYTES} bytes")
    return data


def _page(uri: str) -> bytes:
    data = bytearray()
    try:
        with (
            httpx2.Client(timeout=_TIMEOUT_S, follow_redirects=True) as client,
            client.stream("GET", uri) as answer,
        ):
            if answer.status_code != 200:
                raise FetchError(f"the server answered {answer.status_code}")
            for chunk in answer.iter_bytes():
                data += chunk
                if len(data) > _MOST_BYTES:
                    raise FetchError(f"it is larger than {_MOST_BYTES} bytes")
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as problem:
        raise FetchError(str(problem) or type(problem).__name__) from None
    return bytes(data)
