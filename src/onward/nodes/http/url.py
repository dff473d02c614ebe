"""Where a request goes: the URL is checked before use, and shown without what may be secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import SplitResult, urlsplit

from onward.nodes.failures import bad_request
from onward.nodes.http.body import text_of

_LONGEST_SHOWN = 500


def check_url(url: str) -> None:
    """Raise RefusedError unless `url` is a plain absolute http or https URL."""
    # urlsplit drops tabs and newlines in silence, so they must be found first.
    if any(ord(character) <= 0x20 or ord(character) == 0x7F for character in url):
        raise bad_request("`url` holds a space or control character: percent-encode it (%20)")
    text_of(url)
    parts = _split(url)
    if parts is None or not parts.hostname:
        raise bad_request("`url` is not a complete URL such as https://example.com/path")
    if parts.scheme not in ("http", "https"):
        raise bad_request(
            f"`url` has the scheme {parts.scheme!r}: only http and https can be called"
        )
    if "@" in parts.netloc:
        raise bad_request("`url` holds a user name or password: name a credential instead")


def public_url(url: str) -> str:
    """Return `url` as far as it may be shown: no user, password, query or fragment."""
    parts = _split(url)
    if parts is None or not parts.hostname:
        return "(not a URL)"
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = f":{parts.port}" if parts.port else ""
    shown = f"{parts.scheme}://{host}{port}{parts.path}"[:_LONGEST_SHOWN]
    return shown.encode("utf-8", "replace").decode()


def query_pairs(query: Mapping[str, object]) -> Sequence[tuple[str, str]]:
    """Return `query` as pairs to append to the URL: a list repeats its key, a null is left out."""
    pairs: list[tuple[str, str]] = []
    for key, value in query.items():
        values = value if isinstance(value, list) else [value]
        pairs.extend((text_of(key), text_of(item)) for item in values if item is not None)
    return pairs


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises when it is not a port
    except ValueError:
        return None
    return parts
