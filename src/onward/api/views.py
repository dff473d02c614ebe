"""What several rooms of the API take and give: pages, problems, documents, and their parts.

Views are structs that know no web framework, so that an engine in this process answers with them
too; `http.models` makes of each what the OpenAPI is written from. Their names, docstrings and
descriptions are therefore part of the published document.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta

from onward.kernel.json import decode
from onward.kernel.records import Definition

T = TypeVar("T")

Identifier = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_-]{1,128}\Z")]
Text = Annotated[str, Meta(max_length=1000, pattern=r"^[^\x00]*\Z")]
RunStatus = Literal["parked", "running", "completed", "failed", "halted", "cancelled"]
Document = dict[str, Any] | str


class View(msgspec.Struct, kw_only=True):
    """What the API answers with."""


class RequestBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a caller sends: nothing else is taken."""


class Page(View, Generic[T], kw_only=True):
    """A part of a list; the next one is at `next_cursor`, unless that is null."""

    items: list[T]
    next_cursor: str | None


class DocumentView(View, kw_only=True):
    """A definition in its canonical form."""

    workflow_id: str
    definition_ref: str
    definition: dict[str, Any]


class Place(View, kw_only=True):
    """One thing that is wrong, and where."""

    message: str
    pointer: Annotated[
        str | None, Meta(description="JSON pointer into the body or the document.")
    ] = None
    parameter: Annotated[
        str | None, Meta(description="The query parameter, header or path part.")
    ] = None
    code: str | None = None
    hint: str | None = None
    line: int | None = None
    column: int | None = None


class Problem(View, kw_only=True):
    """Why a request was refused (RFC 9457)."""

    type: Annotated[str, Meta(description="Always about:blank: `code` tells kinds apart.")] = (
        "about:blank"
    )
    title: str
    status: int
    detail: str
    code: str
    instance: str
    request_id: str
    errors: list[Place] = msgspec.field(default_factory=list)


def document_view(definition: Definition) -> DocumentView:
    """Return the view of a definition."""
    return DocumentView(
        workflow_id=definition.workflow_id,
        definition_ref=definition.ref,
        definition=decode(definition.source),
    )
