"""Routes of triggers: create, change, fire, preview, and backfill what was missed."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from onward.api.routing.parameters import (
    FARTHEST,
    Cursor,
    IfMatch,
    Limit,
    next_cursor,
    read_cursor,
    read_if_match,
    read_moment,
    read_text_cursor,
    write_etag,
)
from onward.api.routing.refusals import invalid_parameter
from onward.api.routing.routes import Reply, Routes, json_reply
from onward.api.triggers.views import (
    AnySettings,
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
from onward.api.views import Identifier, Page
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
from onward.runtime.triggers.firing import Firer, given_of, schedule_of
from onward.runtime.triggers.service import CreatedTrigger, TriggerService

Name = Annotated[Identifier, Meta(description="The trigger's id.")]
HOOKS = "/api/v1/hooks/"


def trigger_routes(backend: Backend) -> Routes:
    """Return the routes of triggers."""
    routes = Routes(prefix="/triggers", tags=["triggers"])
    triggers, firer = TriggerService(backend), Firer(backend)
    _add_firing(routes, backend, triggers, firer)  # before /{trigger_id}, which would take :fire
    _add_times(routes, backend, triggers)
    _add_switches(routes, triggers)
    _add_reading(routes, backend, triggers)
    _add_changing(routes, triggers)
    return routes


def _add_reading(routes: Routes, backend: Backend, triggers: TriggerService) -> None:
    @routes.get("", summary="List triggers", view=Page[TriggerView])
    async def list_triggers(
        workflow_id: Annotated[Identifier | None, Meta(description="Of this workflow.")] = None,
        kind: Annotated[
            str,
            Meta(
                pattern=r"^(manual|webhook|cron|interval|event|after|on)?\Z",
                description="Of this kind only.",
            ),
        ] = "",
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Reply:
        """Triggers by id."""
        query = TriggerQuery(
            limit=limit + 1,
            after=read_text_cursor(cursor),
            workflow_id=workflow_id or "",
            kind=kind,
        )
        found = await backend.triggers.triggers(query)
        return json_reply(
            Page[TriggerView](
                items=[trigger_view(trigger) for trigger in found[:limit]],
                next_cursor=next_cursor(found, limit, lambda trigger: (trigger.trigger_id,)),
            )
        )

    @routes.get("/{trigger_id}", summary="Get a trigger", view=TriggerView)
    async def get_trigger(trigger_id: Name) -> Reply:
        """A trigger as it is now, with its ETag. Secrets are never told again."""
        return _tagged(await triggers.known(trigger_id))


def _add_changing(routes: Routes, triggers: TriggerService) -> None:
    @routes.post("", status=201, summary="Create a trigger", view=TriggerMadeView)
    async def create_trigger(given: TriggerGiven) -> Reply:
        """Let something start runs of a workflow. The secret of a webhook is told this once."""
        created = await triggers.create(
            given.trigger_id,
            given.workflow_id,
            _settings(given.settings),
            enabled=given.enabled,
            secret=given.secret,
        )
        return _with_secret(created, is_new=True)

    @routes.put("/{trigger_id}", summary="Change a trigger", view=TriggerMadeView)
    async def change_trigger(
        trigger_id: Name, given: TriggerChangeGiven, if_match: IfMatch = None
    ) -> Reply:
        """Give it other settings of its kind. A schedule goes on from now."""
        settings, expected = _settings(given.settings), read_if_match(if_match)
        return _with_secret(await triggers.change(trigger_id, settings, given.enabled, expected))

    @routes.delete("/{trigger_id}", status=204, summary="Remove a trigger")
    async def remove_trigger(trigger_id: Name, if_match: IfMatch = None) -> None:
        """Remove it with its firings; its runs go on."""
        await triggers.remove(trigger_id, read_if_match(if_match))


def _add_switches(routes: Routes, triggers: TriggerService) -> None:
    @routes.post("/{trigger_id}:enable", summary="Let it fire", view=TriggerView)
    async def enable_trigger(trigger_id: Name, if_match: IfMatch = None) -> Reply:
        """Let it fire, from now on: what was due meanwhile was not missed."""
        return _tagged(await triggers.enable(trigger_id, True, read_if_match(if_match)))

    @routes.post("/{trigger_id}:disable", summary="Let it fire no more", view=TriggerView)
    async def disable_trigger(trigger_id: Name, if_match: IfMatch = None) -> Reply:
        """Let it fire no more, and give up what waits, also of a backfill. Its runs go on."""
        return _tagged(await triggers.enable(trigger_id, False, read_if_match(if_match)))

    @routes.post("/{trigger_id}:rotate", summary="Give it a new secret", view=TriggerMadeView)
    async def rotate_trigger_secret(
        trigger_id: Name, given: RotateGiven, if_match: IfMatch = None
    ) -> Reply:
        """Make a new secret for a webhook; it is told this once."""
        expected = read_if_match(if_match)
        created = await triggers.rotate(trigger_id, keep=given.keep_previous, expected=expected)
        return _with_secret(created)


def _add_times(routes: Routes, backend: Backend, triggers: TriggerService) -> None:
    @routes.post(":preview", summary="Preview a schedule")
    async def preview_schedule(given: PreviewGiven) -> TimesView:
        """When a schedule would be due; nothing is kept."""
        now_ms = backend.clock.now_ms()
        schedule: Schedule = msgspec.convert(msgspec.to_builtins(given.settings), Schedule)
        check_schedule(schedule, now_ms)
        return _times(schedule, now_ms, _moment("after", given.after, now_ms), given.count)

    @routes.get("/{trigger_id}/next", summary="List the next times")
    async def list_next_times(
        trigger_id: Name,
        count: Annotated[int, Meta(ge=1, le=100, description="How many.")] = 5,
        after: Annotated[str | None, Meta(description="RFC 3339.  Default: now.")] = None,
    ) -> TimesView:
        """When a schedule is due next."""
        trigger = await triggers.known(trigger_id)
        after_ms = _moment("after", after, backend.clock.now_ms())
        return _times(schedule_of(trigger), trigger.created_ms, after_ms, count)


def _add_firing(routes: Routes, backend: Backend, triggers: TriggerService, firer: Firer) -> None:
    @routes.post("/{trigger_id}:fire", status=202, summary="Fire now", view=FiringView)
    async def fire_trigger(
        trigger_id: Name,
        given: FireGiven,
        idempotency_key: Annotated[
            Annotated[str, Meta(max_length=255)] | None,
            Meta(description="The same key fires once."),
        ] = None,
    ) -> Reply:
        """Start a run now, whether the trigger is enabled or not, and beside any other run."""
        trigger = await triggers.known(trigger_id)
        key = f"manual-{idempotency_key or backend.chance.publish_id()}"
        trigger_input = _input_of(trigger, given, backend.clock.now_ms())
        return json_reply(firing_view(await firer.fire(trigger, "manual", key, trigger_input)))

    @routes.post("/{trigger_id}/backfills", status=202, summary="Make up for a range")
    async def backfill_trigger(trigger_id: Name, given: BackfillGiven) -> BackfillView:
        """Fire for every time of a schedule in a range that has not fired yet."""
        trigger = await triggers.known(trigger_id)
        if not trigger.enabled:
            raise StateConflictError(
                f"trigger {trigger_id} is disabled: enable it", "TRIGGER_DISABLED"
            )
        now_ms = backend.clock.now_ms()
        start_ms = _moment("start_at", given.start_at, 0)
        end_ms = _moment("end_at", given.end_at, 0)
        if not start_ms <= end_ms <= now_ms:
            raise invalid_parameter("end_at", "it must not be before start_at, nor in the future")
        done = await firer.backfill(trigger, start_ms, end_ms, given.overlap)
        return BackfillView(times=done.times, added=done.added)

    @routes.get("/{trigger_id}/firings", summary="List firings", view=Page[FiringView])
    async def list_firings(trigger_id: Name, limit: Limit = 50, cursor: Cursor = None) -> Reply:
        """Every time it fired or should have, newest first, for a week."""
        await triggers.known(trigger_id)
        at_ms, key = read_cursor(cursor, tuple[int, str]) or (FARTHEST, "")
        before = (max(min(at_ms, FARTHEST), -FARTHEST), key.replace("\x00", ""))
        found = await backend.triggers.firings(trigger_id, before=before, limit=limit + 1)
        view = Page[FiringView](
            items=[firing_view(firing) for firing in found[:limit]],
            next_cursor=next_cursor(found, limit, lambda firing: (firing.at_ms, firing.key)),
        )
        return json_reply(view)


def _settings(given: AnySettings) -> Settings:
    settings: Settings = msgspec.convert(msgspec.to_builtins(given), Settings)
    return settings


def _input_of(trigger: Trigger, given: FireGiven, now_ms: int) -> Any:
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
    return TimesView(times=[to_iso(moment) for moment in found if moment <= FARTHEST_MS])


def _moment(name: str, text: str | None, default: int) -> int:
    moment = read_moment(name, text, default)
    if not 0 <= moment <= FARTHEST_MS:
        raise invalid_parameter(name, "it must be between the years 1970 and 3000")
    return moment


def _tagged(trigger: Trigger) -> Reply:
    return json_reply(trigger_view(trigger), headers={"etag": write_etag(trigger.revision)})


def _with_secret(created: CreatedTrigger, *, is_new: bool = False) -> Reply:
    trigger = created.trigger
    view = TriggerMadeView(
        **msgspec.structs.asdict(trigger_view(trigger)), secret=created.secret or None
    )
    headers = {"etag": write_etag(trigger.revision)}
    if is_new:
        headers["location"] = f"/api/v1/triggers/{trigger.trigger_id}"
    return json_reply(view, headers=headers)


def trigger_view(trigger: Trigger) -> TriggerView:
    """Return the view of a trigger."""
    settings = trigger.settings
    return TriggerView(
        trigger_id=trigger.trigger_id,
        workflow_id=trigger.workflow_id,
        revision=trigger.revision,
        enabled=trigger.enabled,
        settings=_settings_view(settings),
        next_at=None if trigger.next_due_ms is None else to_iso(trigger.next_due_ms),
        url=HOOKS + settings.path if isinstance(settings, Webhook) else None,
        of_document=trigger.owned,
        created_at=to_iso(trigger.created_ms),
        changed_at=to_iso(trigger.changed_ms),
    )


def _settings_view(settings: Settings) -> dict[str, Any]:
    """Return settings as they may be given again."""
    facts = msgspec.to_builtins(settings)
    return {name: value for name, value in facts.items() if name != "of_document"}


def firing_view(firing: Firing) -> FiringView:
    """Return the view of a firing."""
    started = firing.state in {"starting", "started", "ended"}
    return FiringView(
        trigger_id=firing.trigger_id,
        key=firing.key,
        cause=firing.cause,
        due_at=to_iso(firing.due_ms),
        at=to_iso(firing.at_ms),
        state="started" if firing.state == "ended" else firing.state,
        execution_id=firing.execution_id if started else None,
        note=firing.note,
    )
