"""Signed links, and the server that they are for."""

from __future__ import annotations

import re
from typing import Any

import click

from onward.cli import remote

_LINK = re.compile(r"(?P<server>https?://[^/?#]+)(?P<path>/[^?#]*)")


def is_link(text: str) -> bool:
    """Return whether something is a link, and not the id of a run."""
    return _LINK.fullmatch(text) is not None


def where_of(link: str, given: dict[str, Any]) -> remote.Where:
    """Return the server that a link is for, unless another one is named.

    Whoever has a link needs nothing else: a token is shown only to a server that is named.
    """
    at = remote.where(given)
    found = _LINK.fullmatch(link)
    if at.server:
        return at
    if found is None:
        raise click.UsageError(f"{link[:80]!r} is no link: it begins with http:// or https://")
    before = found["path"].partition("/api/v1/")[0]
    return remote.Where(found["server"] + before, None, at.database)
