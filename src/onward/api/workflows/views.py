"""What the API takes and gives of workflows, start rules, node types and expressions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from onward.api.views import Document, Identifier, Place, RequestBody, Text, View

# -- workflows and versions ----------------------------------------------------------------------


class WorkflowGiven(RequestBody, kw_only=True):
    """A workflow to create, or a version to add."""

    definition: Annotated[
        Document, Meta(description="The document: an object, or its YAML or JSON text.")
    ]
    note: Annotated[Text, Meta(description="Why this version.")] = ""
    publish: Annotated[
        bool | None,
        Meta(description="Let new runs use it at once.  Default: true for the first version only."),
    ] = None


class DefinitionGiven(RequestBody, kw_only=True):
    """A document to look at."""

    definition: Document


class PublishGiven(RequestBody, kw_only=True):
    """Which version new runs shall use; null: the newest."""

    version: Annotated[int, Meta(ge=1, le=2**53)] | None = None


class WorkflowView(View, kw_only=True):
    """A workflow as it is now."""

    workflow_id: str
    revision: int
    latest_version: int
    published_version: int | None
    enabled: bool
    created_at: str
    changed_at: str


class VersionView(View, kw_only=True):
    """One version, without its document."""

    workflow_id: str
    version: int
    definition_ref: str
    created_at: str
    note: str
    published: bool


class ExaminedView(View, kw_only=True):
    """What is wrong with a document; it can run when no finding is an error."""

    valid: bool
    workflow_id: str | None
    definition_ref: str | None
    errors: list[Place]
    warnings: list[Place]


class DifferenceView(View, kw_only=True):
    """One place at which two documents differ."""

    pointer: str
    change: Literal["added", "removed", "changed"]
    before: Any = None
    after: Any = None


class DiffView(View, kw_only=True):
    """All places at which two versions differ."""

    workflow_id: str
    before: int
    after: int
    differences: list[DifferenceView]
    truncated: bool


class ExportView(View, kw_only=True):
    """Workflows to take elsewhere, each with its published (or else its newest) version."""

    format: Literal["onward-workflows-1"] = "onward-workflows-1"
    workflows: list[dict[str, Any]]
    next_cursor: str | None


class ImportGiven(RequestBody, kw_only=True):
    """Workflows from elsewhere."""

    format: Literal["onward-workflows-1"]
    workflows: Annotated[list[dict[str, Any]], Meta(max_length=500)]


class ImportedView(View, kw_only=True):
    """What an import did."""

    created: list[str]
    changed: list[str]
    unchanged: list[str]


# -- start rules ---------------------------------------------------------------------------------


class FlowGiven(RequestBody, kw_only=True):
    """How runs of a workflow may start; every key is counted for itself."""

    key: Annotated[
        str,
        Meta(
            max_length=1000,
            description="An expression on `$trigger`; empty: one key for the whole workflow.",
        ),
    ] = ""
    concurrency: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    rate: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None, Meta(description="Starts in `per_ms`.")
    ] = None
    per_ms: Annotated[int, Meta(ge=100, le=86_400_000)] = 60_000
    singleton: Annotated[bool, Meta(description="While one has not ended, another is refused.")] = (
        False
    )
    debounce_ms: Annotated[
        Annotated[int, Meta(ge=1, le=86_400_000)] | None,
        Meta(description="A run waits so long, and gives way to another that comes meanwhile."),
    ] = None


class FlowView(View, kw_only=True):
    """How runs of a workflow may start."""

    workflow_id: str
    key: str
    concurrency: int | None
    rate: int | None
    per_ms: int
    singleton: bool
    debounce_ms: int | None


# -- node types and expressions ------------------------------------------------------------------


class NodeTypeView(View, kw_only=True):
    """A node type; `parameters` is the JSON Schema of what it takes."""

    type: str
    summary: str
    description: str
    effect: str
    credential: bool
    expressions: Annotated[list[str], Meta(description="Parameters that are jq themselves.")]
    parameters: dict[str, Any]


class EvaluateGiven(RequestBody, kw_only=True):
    """An expression, or any value with expressions in it, and the data to evaluate it on."""

    template: Annotated[
        Any, Meta(description="Text with `$references` or `{{ jq }}`, or any JSON with such text.")
    ]
    input: Annotated[Any, Meta(description="What `.` and `$input` are.")] = None
    variables: Annotated[
        dict[str, Any], Meta(description="What `$name` is, by name without the `$`.")
    ] = msgspec.field(default_factory=dict)
    execution_id: Annotated[
        Identifier | None,
        Meta(description="A run whose data the variables are; `variables` come on top."),
    ] = None


class EvaluatedView(View, kw_only=True):
    """What a template came to, and which names it reads."""

    value: Any
    names: list[str]
