"""Fetching what a document of the Serverless Workflow DSL takes from outside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from onward.adapters.host.fetching import FetchError, fetch
from onward.errors import DefinitionError
from onward.languages.graph.source import read
from onward.languages.serverless.bundling import MOST, Fetched, Missing, needed


def gather(value: Any, file: str, fetch: Callable[[str], str] = fetch) -> Fetched:
    """Return everything that the document in `file` needs, and what that needs, by its URI."""
    base = Path(file).absolute().as_uri()
    found: dict[str, Any] = {}
    while wanted := needed(value, found)[: MOST - len(found)]:
        for uri in wanted:
            found[uri] = _one(urljoin(base, uri), fetch)
    return found


def _one(uri: str, fetch: Callable[[str], str]) -> Any:
    try:
        return read(fetch(uri), file=uri).value
    except FetchError as problem:
        return Missing(str(problem))
    except DefinitionError as problem:
        return Missing(problem.problems[0].message)
