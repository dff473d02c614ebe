"""Routes of triggers: make, change, fire, preview, make up for what was missed."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Header, Path, Query, Response

from onward.api.http.json_route import (
    StrictRoute,
    json_response,
    read_cursor,
    read_if_match,
    write_cursor,
    write_etag,
)
from onward.api.http.parameters import Cursor, Limit, read_moment
from onward.api.http.problems import RequestRefusedError
from onward.api.triggers.views import (
    BackfillGiven,
    BackfillView,
    FireGiven,
    FiringView,
    PreviewGiven,
    RotateGiven,
    TimesView,
    TriggerChangeGiven,
    TriggerGiven,
    TriggerMadeView,
    TriggerView,
)
from onward.api.views import Identifier, Page, Place, RequestBody
from onward.api.workflows.routes import IfMatch
from onward.errors import StateConflictError
from onward.kernel.timestamps import to_iso
from onward.ports.storage.triggers import (
    After,
    Cron,
    Firing,
    Interval,
    Manual,
    On,
    Schedule,
    Settings,
    Trigger,
    TriggerQuery,
    Webhook,
)
from onward.runtime.backend import Backend
from onward.runtime.schedules import FARTHEST_MS, check_schedule, moments
from onward.runtime.triggers.firer import Firer
from onward.runtime.triggers.firing import given_of, schedule_of
from onward.runtime.triggers.service import CreatedTrigger, TriggerService

Name = Annotated[Identifier, Path(description="The trigger's id.")]
HOOKS = "/api/v1/hooks/"


def trigger_routes(backend: Backend) -> APIRouter:
    """Return the routes of triggers."""
    routes = APIRouter(prefix="/triggers", tags=["triggers"], route_class=StrictRoute)
    changes, firer = TriggerService(backend), Firer(backend)
    _add_firing(routes, backend, changes, firer)  # before /{trigger_id}, which would take :fire
    _add_times(routes, backend, changes)
    _add_switches(routes, changes)
    _add_reading(routes, backend, changes)
    _add_changing(routes, changes)
    return routes


def _add_reading(routes: APIRouter, backend: Backend, changes: TriggerService) -> None:
    @routes.get("", summary="List triggers", response_model=Page[TriggerView])
    async def list_triggers(
        workflow_id: Annotated[Identifier | None, Query(description="Of this workflow.")] = None,
        kind: Annotated[
            str,
            Query(
                pattern="^(manual|webhook|cron|interval|event|after|on)?$",
                description="Of this kind only.",
            ),
        ] = "",
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response:
        """Triggers by id."""
        (after,) = read_cursor(cursor, tuple[str]) or ("",)
        query = TriggerQuery(
            limit=limit + 1,
            after=after.replace("\x00", ""),
            workflow_id=workflow_id or "",
            kind=kind,
        )
        found = await backend.triggers.triggers(query)
        more = write_cursor(found[limit - 1].trigger_id) if len(found) > limit else None
        views = [trigger_view(one) for one in found[:limit]]
        return json_response(Page[TriggerView].model_construct(items=views, next_cursor=more))

    @routes.get("/{trigger_id}", summary="Get a trigger", response_model=TriggerView)
    async def get_trigger(trigger_id: Name) -> Response:
        """A trigger as it is now, with its ETag. Secrets are never told again."""
        return _tagged(await changes.known(trigger_id))


def _add_changing(routes: APIRouter, changes: TriggerService) -> None:
    @routes.post("", status_code=201, summary="Create a trigger", response_model=TriggerMadeView)
    async def create_trigger(given: TriggerGiven) -> Response:
        """Let something start runs of a workflow. The secret of a webhook is told this once."""
        made = await changes.create(
            given.trigger_id,
            given.workflow_id,
            _settings(given.settings),
            enabled=given.enabled,
            secret=given.secret,
        )
        return _told_once(made, 201)

    @routes.put("/{trigger_id}", summary="Change a trigger", response_model=TriggerMadeView)
    async def change_trigger(
        trigger_id: Name, given: TriggerChangeGiven, if_match: IfMatch = None
    ) -> Response:
        """Give it other settings of its kind. A schedule goes on from now."""
        settings, expected = _settings(given.settings), read_if_match(if_match)
        return _told_once(await changes.change(trigger_id, settings, given.enabled, expected))

    @routes.delete("/{trigger_id}", status_code=204, summary="Remove a trigger")
    async def remove_trigger(trigger_id: Name, if_match: IfMatch = None) -> None:
        """Remove it with its firings; its runs go on."""
        await changes.remove(trigger_id, read_if_match(if_match))


def _add_switches(routes: APIRouter, changes: TriggerService) -> None:
    @routes.post("/{trigger_id}:enable", summary="Let it fire", response_model=TriggerView)
    async def enable_trigger(trigger_id: Name, if_match: IfMatch = None) -> Response:
        """Let it fire, from now on: what was due meanwhile was not missed."""
        return _tagged(await changes.enable(trigger_id, True, read_if_match(if_match)))

    @routes.post("/{trigger_id}:disable", summary="Let it fire no more", response_model=TriggerView)
    async def disable_trigger(trigger_id: Name, if_match: IfMatch = None) -> Response:
        """Let it fire no more, and give up what waits, also of a backfill. Its runs go on."""
        return _tagged(await changes.enable(trigger_id, False, read_if_match(if_match)))

    @routes.post(
        "/{trigger_id}:rotate", summary="Give it a new secret", response_model=TriggerMadeView
    )
    async def rotate_trigger_secret(
        trigger_id: Name, given: RotateGiven, if_match: IfMatch = None
    ) -> Response:
        """Make a new secret for a webhook; it is told this once."""
        expected = read_if_match(if_match)
        made = await changes.rotate(trigger_id, keep=given.keep_previous, expected=expected)
        return _told_once(made)


def _add_times(routes: APIRouter, backend: Backend, changes: TriggerService) -> None:
    @routes.post(":preview", summary="Preview a schedule")
    async def preview_schedule(given: PreviewGiven) -> TimesView:
        """When a schedule would be due; nothing is kept."""
        now_ms = backend.clock.now_ms()
        schedule: Schedule = msgspec.convert(given.settings.model_dump(), Schedule)
        check_schedule(schedule, now_ms)
        return _times(schedule, now_ms, _moment("after", given.after, now_ms), given.count)

    @routes.get("/{trigger_id}/next", summary="List the next times")
    async def list_next_times(
        trigger_id: Name,
        count: Annotated[int, Query(ge=1, le=100, description="How many.")] = 5,
        after: Annotated[str | None, Query(description="RFC 3339.  Default: now.")] = None,
    ) -> TimesView:
        """When a schedule is due next."""
        trigger = await changes.known(trigger_id)
        after_ms = _moment("after", after, backend.clock.now_ms())
        return _times(schedule_of(trigger), trigger.created_ms, after_ms, count)


def _add_firing(routes: APIRouter, backend: Backend, changes: TriggerService, firer: Firer) -> None:
    @routes.post(
        "/{trigger_id}:fire", status_code=202, summary="Fire now", response_model=FiringView
    )
    async def fire_trigger(
        trigger_id: Name,
        given: FireGiven,
        idempotency_key: Annotated[
            str | None, Header(max_length=255, description="The same key fires once.")
        ] = None,
    ) -> Response:
        """Start a run now, whether the trigger is enabled or not, and beside any other run."""
        trigger = await changes.known(trigger_id)
        key = f"manual-{idempotency_key or backend.chance.publish_id()}"
        whole = _given(trigger, given, backend.clock.now_ms())
        return json_response(firing_view(await firer.fire(trigger, "manual", key, whole)), 202)

    @routes.post("/{trigger_id}/backfills", status_code=202, summary="Make up for a range")
    async def backfill_trigger(trigger_id: Name, given: BackfillGiven) -> BackfillView:
        """Fire for every time of a schedule in a range that has not fired yet."""
        trigger = await changes.known(trigger_id)
        if not trigger.enabled:
            raise StateConflictError(
                f"trigger {trigger_id} is disabled: enable it", "TRIGGER_DISABLED"
            )
        now_ms = backend.clock.now_ms()
        start_ms = _moment("start_at", given.start_at, 0)
        end_ms = _moment("end_at", given.end_at, 0)
        if not start_ms <= end_ms <= now_ms:
            raise _wrong("end_at", "it must not be before start_at, nor in the future")
        done = await firer.backfill(trigger, start_ms, end_ms, given.overlap)
        return BackfillView(times=done.times, added=done.added)

    @routes.get("/{trigger_id}/firings", summary="List firings", response_model=Page[FiringView])
    async def list_firings(trigger_id: Name, limit: Limit = 50, cursor: Cursor = None) -> Response:
        """Every time it fired or should have, newest first, for a week."""
        await changes.known(trigger_id)
        at_ms, key = read_cursor(cursor, tuple[int, str]) or (2**62, "")
        before = (max(min(at_ms, 2**62), -(2**62)), key.replace("\x00", ""))
        found = await backend.triggers.firings(trigger_id, before=before, limit=limit + 1)
        last = found[limit - 1] if len(found) > limit else None
        view = Page[FiringView].model_construct(
            items=[firing_view(one) for one in found[:limit]],
            next_cursor=write_cursor(last.at_ms, last.key) if last else None,
        )
        return json_response(view)


def _settings(given: RequestBody) -> Settings:
    made: Settings = msgspec.convert(given.model_dump(), Settings)
    return made


def _given(trigger: Trigger, given: FireGiven, now_ms: int) -> Any:
    """Return what `$trigger` is: the input itself, unless schedules wrap it."""
    match trigger.settings:
        case Cron(input=default) | Interval(input=default) if not trigger.owned:
            value = given.input if given.input is not None else default
            return given_of(trigger, "manual", now_ms, value)
        case Manual(input=default) | Cron(input=default) | Interval(input=default):
            return given.input if given.input is not None else default
        case After(input=default):
            return given.input if given.input is not None else default
        case On():
            return given.input if given.input is not None else []
        case _:
            return given.input


def _times(schedule: Schedule, anchor_ms: int, after_ms: int, count: int) -> TimesView:
    found = islice(moments(schedule, anchor_ms, after_ms), count)
    return TimesView(times=[to_iso(one) for one in found if one <= FARTHEST_MS])


def _moment(name: str, text: str | None, default: int) -> int:
    moment = read_moment(name, text, default)
    if not 0 <= moment <= FARTHEST_MS:
        raise _wrong(name, "it must be between the years 1970 and 3000")
    return moment


def _wrong(name: str, message: str) -> RequestRefusedError:
    place = Place(message=message, parameter=name)
    return RequestRefusedError(422, "INVALID_REQUEST", f"{name}: {message}", errors=[place])


def _tagged(trigger: Trigger) -> Response:
    return json_response(trigger_view(trigger), headers={"etag": write_etag(trigger.revision)})


def _told_once(made: CreatedTrigger, status: int = 200) -> Response:
    trigger = made.trigger
    view = TriggerMadeView.model_construct(
        **vars(trigger_view(trigger)), secret=made.secret or None
    )
    headers = {"etag": write_etag(trigger.revision)}
    if status == 201:
        headers["location"] = f"/api/v1/triggers/{trigger.trigger_id}"
    return json_response(view, status, headers)


def trigger_view(trigger: Trigger) -> TriggerView:
    """Return a trigger as the API tells it."""
    settings = trigger.settings
    return TriggerView.model_construct(
        trigger_id=trigger.trigger_id,
        workflow_id=trigger.workflow_id,
        revision=trigger.revision,
        enabled=trigger.enabled,
        settings=_told(settings),
        next_at=None if trigger.next_due_ms is None else to_iso(trigger.next_due_ms),
        url=HOOKS + settings.path if isinstance(settings, Webhook) else None,
        of_document=trigger.owned,
        created_at=to_iso(trigger.created_ms),
        changed_at=to_iso(trigger.changed_ms),
    )


def _told(settings: Settings) -> dict[str, Any]:
    """Return settings as they may be given again."""
    json_response = msgspec.to_builtins(settings)
    return {name: value for name, value in json_response.items() if name != "of_document"}


def firing_view(firing: Firing) -> FiringView:
    """Return a firing as the API tells it."""
    started = firing.state in {"starting", "started", "ended"}
    return FiringView.model_construct(
        trigger_id=firing.trigger_id,
        key=firing.key,
        cause=firing.cause,
        due_at=to_iso(firing.due_ms),
        at=to_iso(firing.at_ms),
        state="started" if firing.state == "ended" else firing.state,
        execution_id=firing.execution_id if started else None,
        note=firing.note,
    )
