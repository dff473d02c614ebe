"""Routes of workflows: documents, versions, what is published."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from onward.api.routing.parameters import (
    FARTHEST,
    Cursor,
    IfMatch,
    Limit,
    has_revision,
    next_cursor,
    read_if_match,
    read_number_cursor,
    read_text_cursor,
    write_etag,
)
from onward.api.routing.refusals import place_of
from onward.api.routing.routes import Reply, Routes, json_reply
from onward.api.views import DocumentView, Identifier, Page, document_view
from onward.api.workflows.json_diff import differences
from onward.api.workflows.views import (
    DefinitionGiven,
    DiffView,
    ExaminedView,
    ExportView,
    ImportedView,
    ImportGiven,
    PublishGiven,
    VersionView,
    WorkflowGiven,
    WorkflowView,
)
from onward.errors import DefinitionError, DocumentProblem
from onward.kernel.json import decode
from onward.kernel.records import Definition
from onward.kernel.timestamps import to_iso
from onward.ports.storage.workflows import WorkflowRecord, WorkflowVersion
from onward.runtime.backend import Backend
from onward.runtime.workflows.service import WorkflowService

Name = Annotated[Identifier, Meta(description="The workflow's id.")]
Number = Annotated[int, Meta(ge=1, le=2**53, description="The version's number.")]


def workflow_routes(backend: Backend) -> Routes:
    """Return the routes of workflows."""
    routes = Routes(prefix="/workflows", tags=["workflows"])
    workflows = WorkflowService(backend)
    _add_versions(routes, backend, workflows)  # before /{workflow_id}, which would take :diff
    _add_reading(routes, backend, workflows)
    _add_changing(routes, workflows)
    _add_moving(routes, backend, workflows)
    return routes


def _add_reading(routes: Routes, backend: Backend, workflows: WorkflowService) -> None:
    @routes.get("", summary="List workflows")
    async def list_workflows(
        q: Annotated[str, Meta(max_length=128, description="A part of the id.")] = "",
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Page[WorkflowView]:
        """Workflows by id."""
        after = read_text_cursor(cursor)
        found = await backend.registry.workflows(after=after, containing=q, limit=limit + 1)
        return Page[WorkflowView](
            items=[workflow_view(workflow) for workflow in found[:limit]],
            next_cursor=next_cursor(found, limit, lambda workflow: (workflow.workflow_id,)),
        )

    @routes.get(
        "/{workflow_id}",
        summary="Get a workflow",
        view=WorkflowView,
        responses={304: {"description": "It is still at the ETag in If-None-Match."}},
    )
    async def get_workflow(
        workflow_id: Name,
        if_none_match: Annotated[str | None, Meta(description="An ETag you have.")] = None,
    ) -> Reply:
        """A workflow as it is now, with its ETag."""
        workflow = await workflows.known(workflow_id)
        if has_revision(if_none_match, workflow.revision):
            return Reply(
                status=304, headers={"etag": write_etag(workflow.revision)}, media_type=None
            )
        return _tagged(workflow)

    @routes.post(":validate", summary="Check a document")
    async def validate_definition(given: DefinitionGiven) -> ExaminedView:
        """Every problem of a document at once; nothing is kept."""
        examined = await backend.examine(given.definition)
        known = examined.definition
        return ExaminedView(
            valid=known is not None,
            workflow_id=known.workflow_id if known else None,
            definition_ref=known.ref if known else None,
            errors=[
                place_of(problem) for problem in examined.problems if problem.severity == "error"
            ],
            warnings=[
                place_of(problem) for problem in examined.problems if problem.severity == "warning"
            ],
        )


def _add_versions(routes: Routes, backend: Backend, workflows: WorkflowService) -> None:
    @routes.get("/{workflow_id}/versions", summary="List versions")
    async def list_versions(
        workflow_id: Name, limit: Limit = 50, cursor: Cursor = None
    ) -> Page[VersionView]:
        """Versions of a workflow, newest first."""
        workflow = await workflows.known(workflow_id)
        before = read_number_cursor(cursor, FARTHEST)
        found = await backend.registry.versions(workflow_id, before=before, limit=limit + 1)
        return Page[VersionView](
            items=[version_view(version, workflow) for version in found[:limit]],
            next_cursor=next_cursor(found, limit, lambda version: (version.number,)),
        )

    @routes.get(
        "/{workflow_id}/versions/{number}",
        summary="Get a version's document",
        view=DocumentView,
    )
    async def get_version(workflow_id: Name, number: Number) -> Reply:
        """The definition of a version, in its canonical form."""
        return json_reply(document_view(await workflows.definition_of(workflow_id, number)))

    @routes.get("/{workflow_id}:diff", summary="Compare two versions", view=DiffView)
    async def diff_versions(
        workflow_id: Name,
        before: Annotated[int, Meta(ge=1, le=2**53, description="The older version.")],
        after: Annotated[int, Meta(ge=1, le=2**53, description="The newer version.")],
    ) -> Reply:
        """Every place at which two versions differ. Nodes and edges are compared by their id."""
        older = decode((await workflows.definition_of(workflow_id, before)).source)
        newer = decode((await workflows.definition_of(workflow_id, after)).source)
        found, truncated = differences(older, newer)
        view = DiffView(
            workflow_id=workflow_id,
            before=before,
            after=after,
            differences=found,
            truncated=truncated,
        )
        return json_reply(view)


def _add_changing(routes: Routes, workflows: WorkflowService) -> None:
    @routes.post("", status=201, summary="Create a workflow", view=WorkflowView)
    async def create_workflow(given: WorkflowGiven) -> Reply:
        """Keep a document as version 1 of the workflow that it names."""
        definition = await workflows.read(given.definition)
        created = await workflows.create(
            definition, note=given.note, publish=given.publish is not False
        )
        return _tagged(created, location=f"/api/v1/workflows/{created.workflow_id}")

    @routes.post("/{workflow_id}/versions", status=201, summary="Add a version", view=WorkflowView)
    async def add_version(
        workflow_id: Name, given: WorkflowGiven, if_match: IfMatch = None
    ) -> Reply:
        """Keep a document as the next version. One that equals the newest is not kept twice."""
        definition = await workflows.read(given.definition)
        changed = await workflows.add_version(
            workflow_id,
            definition,
            read_if_match(if_match),
            note=given.note,
            publish=given.publish is True,
        )
        return _tagged(changed)

    @routes.post("/{workflow_id}:publish", summary="Publish a version", view=WorkflowView)
    async def publish_version(
        workflow_id: Name, given: PublishGiven, if_match: IfMatch = None
    ) -> Reply:
        """Let new runs use a version. Runs that go on keep theirs."""
        expected = read_if_match(if_match)
        return _tagged(await workflows.publish(workflow_id, given.version, expected))

    @routes.post("/{workflow_id}:rollback", summary="Go back one version", view=WorkflowView)
    async def roll_back(workflow_id: Name, if_match: IfMatch = None) -> Reply:
        """Let new runs use the version before the published one."""
        return _tagged(await workflows.roll_back(workflow_id, read_if_match(if_match)))

    @routes.post("/{workflow_id}:enable", summary="Allow new runs", view=WorkflowView)
    async def enable_workflow(workflow_id: Name, if_match: IfMatch = None) -> Reply:
        """Allow new runs of the published version."""
        expected = read_if_match(if_match)
        return _tagged(await workflows.enable(workflow_id, True, expected))

    @routes.post("/{workflow_id}:disable", summary="Allow no new runs", view=WorkflowView)
    async def disable_workflow(workflow_id: Name, if_match: IfMatch = None) -> Reply:
        """Refuse new runs of the published version; those that go on are not concerned."""
        expected = read_if_match(if_match)
        return _tagged(await workflows.enable(workflow_id, False, expected))


def _add_moving(routes: Routes, backend: Backend, workflows: WorkflowService) -> None:
    @routes.post(":export", summary="Export workflows", view=ExportView)
    async def export_workflows(limit: Limit = 50, cursor: Cursor = None) -> Reply:
        """Workflows with their documents, to be imported elsewhere."""
        after = read_text_cursor(cursor)
        found = await backend.registry.workflows(after=after, containing="", limit=limit + 1)
        documents = []
        for workflow in found[:limit]:
            wanted = workflow.published or workflow.latest
            definition = await workflows.definition_of(workflow.workflow_id, wanted)
            documents.append(decode(definition.source))
        more = next_cursor(found, limit, lambda workflow: (workflow.workflow_id,))
        return json_reply(ExportView(workflows=documents, next_cursor=more))

    @routes.post(":import", summary="Import workflows")
    async def import_workflows(given: ImportGiven) -> ImportedView:
        """Create or publish each workflow. Nothing is changed unless every document can run."""
        definitions = await _read_all(workflows, given.workflows)
        done = ImportedView(created=[], changed=[], unchanged=[])
        for definition in definitions:
            name = definition.workflow_id
            before = await backend.registry.workflow(name)
            if before is None:
                await workflows.create(definition, note="imported")
                done.created.append(name)
                continue
            after = await workflows.add_version(
                name, definition, before.revision, note="imported", publish=True
            )
            (done.unchanged if after == before else done.changed).append(name)
        return done


async def _read_all(
    workflows: WorkflowService, documents: list[dict[str, Any]]
) -> list[Definition]:
    problems: list[DocumentProblem] = []
    found = []
    for index, document in enumerate(documents):
        try:
            found.append(await workflows.read(document))
        except DefinitionError as error:
            problems += [_within(index, problem) for problem in error.problems]
    if problems:
        raise DefinitionError(problems)
    return found


def _within(index: int, problem: DocumentProblem) -> DocumentProblem:
    return DocumentProblem(
        problem.code,
        problem.message,
        problem.hint,
        f"/workflows/{index}{problem.pointer}",
        severity=problem.severity,
    )


def _tagged(workflow: WorkflowRecord, **headers: str) -> Reply:
    headers["etag"] = write_etag(workflow.revision)
    return json_reply(workflow_view(workflow), headers=headers)


def workflow_view(workflow: WorkflowRecord) -> WorkflowView:
    """Return the view of a workflow."""
    return WorkflowView(
        workflow_id=workflow.workflow_id,
        revision=workflow.revision,
        latest_version=workflow.latest,
        published_version=workflow.published,
        enabled=workflow.enabled,
        created_at=to_iso(workflow.created_ms),
        changed_at=to_iso(workflow.changed_ms),
    )


def version_view(version: WorkflowVersion, workflow: WorkflowRecord) -> VersionView:
    """Return the view of a version."""
    return VersionView(
        workflow_id=version.workflow_id,
        version=version.number,
        definition_ref=version.definition_ref,
        created_at=to_iso(version.created_ms),
        note=version.note,
        published=version.number == workflow.published,
    )
