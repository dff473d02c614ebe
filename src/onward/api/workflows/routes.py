"""Routes of workflows: documents, versions, what is published."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Response

from onward.api.http.json_diff import differences
from onward.api.http.json_route import (
    StrictRoute,
    json_response,
    matches,
    read_cursor,
    read_if_match,
    write_cursor,
    write_etag,
)
from onward.api.http.parameters import Cursor, Limit
from onward.api.http.problems import place_of
from onward.api.views import (
    DefinitionGiven,
    DiffView,
    DocumentView,
    ExaminedView,
    ExportView,
    Identifier,
    ImportedView,
    ImportGiven,
    Page,
    PublishGiven,
    VersionView,
    WorkflowGiven,
    WorkflowView,
    document_view,
)
from onward.errors import DefinitionError, DocumentProblem
from onward.kernel.json import decode
from onward.kernel.records import Definition
from onward.kernel.timestamps import to_iso
from onward.ports.storage.workflows import WorkflowRecord, WorkflowVersion
from onward.runtime.backend import Backend
from onward.runtime.workflows.service import WorkflowService

Name = Annotated[Identifier, Path(description="The workflow's id.")]
Number = Annotated[int, Path(ge=1, le=2**53, description="The version's number.")]
IfMatch = Annotated[str | None, Header(description="The ETag that the change was made from.")]


def workflow_routes(backend: Backend) -> APIRouter:
    """Return the routes of workflows."""
    routes = APIRouter(prefix="/workflows", tags=["workflows"], route_class=StrictRoute)
    publishing = WorkflowService(backend)
    _add_versions(routes, backend, publishing)  # before /{workflow_id}, which would take :diff
    _add_reading(routes, backend, publishing)
    _add_changing(routes, publishing)
    _add_moving(routes, backend, publishing)
    return routes


def _add_reading(routes: APIRouter, backend: Backend, publishing: WorkflowService) -> None:
    @routes.get("", summary="List workflows")
    async def list_workflows(
        q: Annotated[str, Query(max_length=128, description="A part of the id.")] = "",
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Page[WorkflowView]:
        """Workflows by id."""
        (after,) = read_cursor(cursor, tuple[str]) or ("",)
        found = await backend.registry.workflows(after=after, containing=q, limit=limit + 1)
        return Page[WorkflowView](
            items=[workflow_view(one) for one in found[:limit]],
            next_cursor=write_cursor(found[limit - 1].workflow_id) if len(found) > limit else None,
        )

    @routes.get(
        "/{workflow_id}",
        summary="Get a workflow",
        response_model=WorkflowView,
        responses={304: {"description": "It is still at the ETag in If-None-Match."}},
    )
    async def get_workflow(
        workflow_id: Name,
        response: Response,
        if_none_match: Annotated[str | None, Header(description="An ETag you have.")] = None,
    ) -> Any:
        """A workflow as it is now, with its ETag."""
        workflow = await publishing.known(workflow_id)
        if matches(if_none_match, workflow.revision):
            return Response(status_code=304, headers={"etag": write_etag(workflow.revision)})
        return _tagged(response, workflow)

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


def _add_versions(routes: APIRouter, backend: Backend, publishing: WorkflowService) -> None:
    @routes.get("/{workflow_id}/versions", summary="List versions")
    async def list_versions(
        workflow_id: Name, limit: Limit = 50, cursor: Cursor = None
    ) -> Page[VersionView]:
        """Versions of a workflow, newest first."""
        workflow = await publishing.known(workflow_id)
        (before,) = read_cursor(cursor, tuple[int]) or (2**62,)
        found = await backend.registry.versions(
            workflow_id, before=min(before, 2**62), limit=limit + 1
        )
        return Page[VersionView](
            items=[version_view(one, workflow) for one in found[:limit]],
            next_cursor=write_cursor(found[limit - 1].number) if len(found) > limit else None,
        )

    @routes.get(
        "/{workflow_id}/versions/{number}",
        summary="Get a version's document",
        response_model=DocumentView,
    )
    async def get_version(workflow_id: Name, number: Number) -> Response:
        """The definition of a version, in its canonical form."""
        return json_response(document_view(await publishing.definition_of(workflow_id, number)))

    @routes.get("/{workflow_id}:diff", summary="Compare two versions", response_model=DiffView)
    async def diff_versions(
        workflow_id: Name,
        before: Annotated[int, Query(ge=1, le=2**53, description="The older version.")],
        after: Annotated[int, Query(ge=1, le=2**53, description="The newer version.")],
    ) -> Response:
        """Every place at which two versions differ. Nodes and edges are compared by their id."""
        one = decode((await publishing.definition_of(workflow_id, before)).source)
        other = decode((await publishing.definition_of(workflow_id, after)).source)
        found, truncated = differences(one, other)
        view = DiffView(
            workflow_id=workflow_id,
            before=before,
            after=after,
            differences=found,
            truncated=truncated,
        )
        return json_response(view)


def _add_changing(routes: APIRouter, publishing: WorkflowService) -> None:
    @routes.post("", status_code=201, summary="Create a workflow")
    async def create_workflow(given: WorkflowGiven, response: Response) -> WorkflowView:
        """Keep a document as version 1 of the workflow that it names."""
        definition = await publishing.read(given.definition)
        made = await publishing.create(
            definition, note=given.note, publish=given.publish is not False
        )
        response.headers["location"] = f"/api/v1/workflows/{made.workflow_id}"
        return _tagged(response, made)

    @routes.post("/{workflow_id}/versions", status_code=201, summary="Add a version")
    async def add_version(
        workflow_id: Name, given: WorkflowGiven, response: Response, if_match: IfMatch = None
    ) -> WorkflowView:
        """Keep a document as the next version. One that equals the newest is not kept twice."""
        definition = await publishing.read(given.definition)
        made = await publishing.add_version(
            workflow_id,
            definition,
            read_if_match(if_match),
            note=given.note,
            publish=given.publish is True,
        )
        return _tagged(response, made)

    @routes.post("/{workflow_id}:publish", summary="Publish a version")
    async def publish_version(
        workflow_id: Name, given: PublishGiven, response: Response, if_match: IfMatch = None
    ) -> WorkflowView:
        """Let new runs use a version. Runs that go on keep theirs."""
        expected = read_if_match(if_match)
        return _tagged(response, await publishing.publish(workflow_id, given.version, expected))

    @routes.post("/{workflow_id}:rollback", summary="Go back one version")
    async def roll_back(
        workflow_id: Name, response: Response, if_match: IfMatch = None
    ) -> WorkflowView:
        """Let new runs use the version before the published one."""
        return _tagged(response, await publishing.roll_back(workflow_id, read_if_match(if_match)))

    @routes.post("/{workflow_id}:enable", summary="Allow new runs")
    async def enable_workflow(
        workflow_id: Name, response: Response, if_match: IfMatch = None
    ) -> WorkflowView:
        """Allow new runs of the published version."""
        expected = read_if_match(if_match)
        return _tagged(response, await publishing.enable(workflow_id, True, expected))

    @routes.post("/{workflow_id}:disable", summary="Allow no new runs")
    async def disable_workflow(
        workflow_id: Name, response: Response, if_match: IfMatch = None
    ) -> WorkflowView:
        """Refuse new runs of the published version; those that go on are not concerned."""
        expected = read_if_match(if_match)
        return _tagged(response, await publishing.enable(workflow_id, False, expected))


def _add_moving(routes: APIRouter, backend: Backend, publishing: WorkflowService) -> None:
    @routes.post(":export", summary="Export workflows", response_model=ExportView)
    async def export_workflows(limit: Limit = 50, cursor: Cursor = None) -> Response:
        """Workflows with their documents, to be imported elsewhere."""
        (after,) = read_cursor(cursor, tuple[str]) or ("",)
        found = await backend.registry.workflows(after=after, containing="", limit=limit + 1)
        documents = []
        for one in found[:limit]:
            wanted = one.published or one.latest
            definition = await publishing.definition_of(one.workflow_id, wanted)
            documents.append(decode(definition.source))
        more = write_cursor(found[limit - 1].workflow_id) if len(found) > limit else None
        return json_response(ExportView(workflows=documents, next_cursor=more))

    @routes.post(":import", summary="Import workflows")
    async def import_workflows(given: ImportGiven) -> ImportedView:
        """Create or publish each workflow. Nothing is changed unless every document can run."""
        definitions = await _read_all(publishing, given.workflows)
        done = ImportedView(created=[], changed=[], unchanged=[])
        for definition in definitions:
            name = definition.workflow_id
            before = await backend.registry.workflow(name)
            if before is None:
                await publishing.create(definition, note="imported")
                done.created.append(name)
                continue
            after = await publishing.add_version(
                name, definition, before.revision, note="imported", publish=True
            )
            (done.unchanged if after == before else done.changed).append(name)
        return done


async def _read_all(
    publishing: WorkflowService, documents: list[dict[str, Any]]
) -> list[Definition]:
    problems: list[DocumentProblem] = []
    found = []
    for index, document in enumerate(documents):
        try:
            found.append(await publishing.read(document))
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


def _tagged(response: Response, workflow: WorkflowRecord) -> WorkflowView:
    response.headers["etag"] = write_etag(workflow.revision)
    return workflow_view(workflow)


def workflow_view(workflow: WorkflowRecord) -> WorkflowView:
    """Return a workflow as the API tells it."""
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
    """Return a version as the API tells it."""
    return VersionView(
        workflow_id=version.workflow_id,
        version=version.number,
        definition_ref=version.definition_ref,
        created_at=to_iso(version.created_ms),
        note=version.note,
        published=version.number == workflow.published,
    )
