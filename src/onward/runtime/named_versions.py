"""Versions as documents of the Serverless Workflow DSL name them: 1.2.0, or latest."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from onward.ports.archive import Archive
from onward.ports.journal import Definition
from onward.ports.workflows import Registry

LATEST = "latest"
PAGE = 100
_NUMBER = re.compile(r"\d+")

Rank = tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]


async def find_version(
    registry: Registry, archive: Archive, workflow_id: str, latest: int, wanted: str
) -> Definition | None:
    """Return the definition of a workflow that names itself `wanted`; None if there is none.

    Of several the newest; `latest` is the highest version by semantic versioning.
    """
    best: tuple[Rank, Definition] | None = None
    before = latest + 1
    while page := await registry.versions(workflow_id, before=before, limit=PAGE):
        before = page[-1].number
        for one in page:
            definition = await archive.definition(one.definition_ref)
            named = None if definition is None else version_in(definition.source)
            if definition is None or named is None:
                continue
            if named == wanted:
                return definition
            if wanted == LATEST and (best is None or rank(named) > best[0]):
                best = rank(named), definition
    return best[1] if best is not None else None


def version_in(source: bytes) -> str | None:
    """Return the version that a document gives itself; None: it is of another language."""
    value: Any = msgspec.json.decode(source)
    head = value.get("document") if isinstance(value, dict) else None
    found = head.get("version") if isinstance(head, dict) else None
    return found if isinstance(found, str) else None


def rank(version: str) -> Rank:
    """Return what semantic versions are compared by."""
    core, _, early = version.partition("+")[0].partition("-")
    numbers = tuple(int(one) for one in _NUMBER.findall(core))
    parts = tuple(
        (not one.isdecimal(), int(one) if one.isdecimal() else 0, one)
        for one in (early.split(".") if early else ())
    )
    return numbers, not early, parts
