"""Triggers over HTTP: made, changed, fired by hand, by the clock, by requests and by events."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks.webhooks import Webhook

from api.documents import chain, waiting
from api.service import PATIENCE_S
from onward.adapters.host.clock import HostClock
from onward.adapters.host.log import HostLog
from onward.runtime.tasks import cancel
from onward.runtime.triggers.clock import TriggerClock

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
CRON = {"kind": "cron", "expression": "30 9 * * 1-5", "time_zone": "Europe/Berlin"}
ECHO = chain("echo", "{got: $trigger}")


@pytest.fixture
async def firing(service):
    """The service, with a master that fires; the embedded one has its own."""
    await service.create(ECHO)
    clock = TriggerClock(service.backend, HostLog())
    task = asyncio.create_task(clock.run() if service.backend.kind == "distributed" else _nothing())
    yield service
    await cancel(task)


async def _nothing():
    """Do what the embedded backend does already."""


@pytest.fixture
async def hello(local):
    await local.create(ECHO)
    return local


async def make(service, settings, **more):
    given = {"trigger_id": "t", "workflow_id": "echo", "settings": settings, **more}
    answer = await service.post("/triggers", given)
    assert 201 == answer.status_code, answer.text
    return answer.json()


async def started(service, trigger="t", many=1):
    """Return the firings of a trigger once so many have started."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = (await service.get(f"/triggers/{trigger}/firings")).json()["items"]
            if sum(one["state"] == "started" for one in found) >= many:
                return found
            await asyncio.sleep(0.05)


async def got(service, execution_id):
    """Return what `$trigger` was in a run that has ended."""
    run = await service.ended(execution_id)
    assert "completed" == run["status"]
    return run["output"]["got"]


def now():
    return datetime.fromtimestamp(HostClock().now_ms() / 1000, UTC)


def signed(body, message_id="msg_1", at=None, secret=SECRET):
    """Sign as somebody else's library does."""
    at = at or now()
    return {
        "content-type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(message_id, at, body.decode()),
    }


# -- triggers themselves -------------------------------------------------------------------------


async def test_a_trigger_is_kept_changed_and_removed(service):
    await service.create(ECHO)
    made = await make(service, CRON)
    tag = {"if-match": '"r1"'}

    listed = (await service.get("/triggers", params={"workflow_id": "echo", "kind": "cron"})).json()
    other = {**CRON, "expression": "0 0 * * *"}
    changed = await service.client.put("/api/v1/triggers/t", json={"settings": other}, headers=tag)
    stale = await service.client.put("/api/v1/triggers/t", json={"settings": other}, headers=tag)
    disabled = (await service.post("/triggers/t:disable")).json()
    enabled = (await service.post("/triggers/t:enable")).json()
    gone = await service.client.delete("/api/v1/triggers/t", headers={"if-match": '"r4"'})

    assert [made["trigger_id"]] == [one["trigger_id"] for one in listed["items"]]
    assert (None, True) == (made["secret"], made["next_at"] is not None)
    assert ("0 0 * * *", 2) == (
        changed.json()["settings"]["expression"],
        changed.json()["revision"],
    )
    assert (412, "STALE") == (stale.status_code, stale.json()["code"])
    assert (None, False) == (disabled["next_at"], disabled["enabled"])
    assert enabled["next_at"] == changed.json()["next_at"]
    assert 204 == gone.status_code
    assert 404 == (await service.get("/triggers/t")).status_code


async def test_triggers_come_in_pages(service):
    await service.create(ECHO)
    for number in range(5):
        await make(service, {"kind": "manual"}, trigger_id=f"t{number}")

    first = (await service.get("/triggers", params={"limit": 3})).json()
    rest = (await service.get("/triggers", params={"cursor": first["next_cursor"]})).json()

    assert ["t0", "t1", "t2"] == [one["trigger_id"] for one in first["items"]]
    assert (["t3", "t4"], None) == (
        [one["trigger_id"] for one in rest["items"]],
        rest["next_cursor"],
    )


async def test_the_next_times_are_told_before_and_after_it_is_made(firing):
    asked = {"settings": {**CRON, "expression": "30 2 * * *"}, "after": "2026-10-24T12:00:00Z"}
    before = (await firing.post("/triggers:preview", {**asked, "count": 2})).json()
    await make(firing, asked["settings"])
    params = {"after": asked["after"], "count": 2}
    after = (await firing.get("/triggers/t/next", params=params)).json()

    assert {"times": ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"]} == before == after


@pytest.mark.parametrize(
    ("given", "status", "code", "said"),
    [
        ({"settings": {**CRON, "expression": "99 * * * *"}}, 422, "INVALID_INPUT", "bad minute"),
        ({"settings": {**CRON, "time_zone": "Mars/Olympus"}}, 422, "INVALID_INPUT", "IANA"),
        ({"settings": {"kind": "interval", "every_ms": 10}}, 422, "INVALID_REQUEST", "every_ms"),
        ({"settings": {"kind": "sundial"}}, 422, "INVALID_REQUEST", "settings"),
        ({"settings": {**CRON, "colour": "red"}}, 422, "INVALID_REQUEST", "colour"),
        ({"settings": CRON, "workflow_id": "nobody"}, 404, "NOT_FOUND", "nobody"),
        ({"settings": CRON, "trigger_id": "a b"}, 422, "INVALID_REQUEST", "trigger_id"),
        ({"settings": CRON, "secret": SECRET}, 422, "INVALID_INPUT", "secret"),
        ({"settings": {"kind": "webhook"}, "secret": "short"}, 422, "INVALID_INPUT", "whsec_"),
        (
            {"settings": {"kind": "webhook", "path": "x", "signature": "none"}},
            422,
            "INVALID_INPUT",
            "guess",
        ),
        (
            {"settings": {"kind": "webhook", "respond": "node"}},
            422,
            "INVALID_INPUT",
            "node_id",
        ),
        ({"settings": {"kind": "event", "where": ".data |"}}, 422, "INVALID_INPUT", "where"),
    ],
)
async def test_a_trigger_that_cannot_be_is_refused_and_not_kept(hello, given, status, code, said):
    answer = await hello.post("/triggers", {"trigger_id": "t", "workflow_id": "echo", **given})

    assert (status, code) == (answer.status_code, answer.json()["code"])
    assert said in answer.text
    assert [] == (await hello.get("/triggers")).json()["items"]


async def test_a_name_and_a_path_are_taken_once(service):
    await service.create(ECHO)
    hook = {"kind": "webhook", "path": "orders"}
    await make(service, hook)
    await make(service, {**hook, "path": "other"}, trigger_id="o")
    given = {"workflow_id": "echo", "settings": hook}

    named = await service.post("/triggers", {**given, "trigger_id": "t", "settings": CRON})
    placed = await service.post("/triggers", {**given, "trigger_id": "u"})
    moved = await service.client.put("/api/v1/triggers/o", json={"settings": hook})
    other = await service.client.put("/api/v1/triggers/o", json={"settings": CRON})

    assert ["TRIGGER_EXISTS", "PATH_TAKEN", "PATH_TAKEN", "OTHER_KIND"] == [
        one.json()["code"] for one in (named, placed, moved, other)
    ]


# -- by hand and by the clock --------------------------------------------------------------------


async def test_fired_by_hand_a_key_starts_one_run(firing):
    await make(firing, {"kind": "manual", "input": {"name": "Ada"}})
    key = {"idempotency-key": "k"}

    first = await firing.post("/triggers/t:fire", {}, headers=key)
    again = await firing.post("/triggers/t:fire", {}, headers=key)
    other = await firing.post("/triggers/t:fire", {"input": 7})

    assert [202, 202, 202] == [one.status_code for one in (first, again, other)]
    assert first.json()["execution_id"] == again.json()["execution_id"]
    assert {"name": "Ada"} == await got(firing, first.json()["execution_id"])
    assert 7 == await got(firing, other.json()["execution_id"])


async def test_a_schedule_starts_runs_that_know_when_they_were_due(firing):
    made = await make(firing, {"kind": "interval", "every_ms": 1_000, "input": {"n": 1}})

    found = await started(firing, many=2)
    told = await got(firing, found[-1]["execution_id"])

    assert made["next_at"] == found[-1]["due_at"] == told["due_at"]
    assert ("schedule", "interval", "t", {"n": 1}) == tuple(
        told[name] for name in ("cause", "kind", "trigger_id", "input")
    )


async def test_a_backfill_makes_up_for_a_range_once(firing):
    await make(firing, {**CRON, "time_zone": "UTC", "input": "x"})
    given = {"start_at": "2026-03-02T00:00:00Z", "end_at": "2026-03-08T00:00:00Z"}

    first = await firing.post("/triggers/t/backfills", given)
    again = await firing.post("/triggers/t/backfills", given)
    found = await started(firing, many=5)
    told = await got(firing, found[0]["execution_id"])

    assert (202, {"times": 5, "added": 5}) == (first.status_code, first.json())
    assert {"times": 5, "added": 0} == again.json()
    assert [f"2026-03-0{day}T09:30:00.000Z" for day in range(2, 7)] == sorted(
        one["due_at"] for one in found
    )
    assert "backfill" == told["cause"]


async def test_a_backfill_that_cannot_be_is_refused(hello):
    await make(hello, {**CRON, "expression": "* * * * *"})
    await make(hello, {"kind": "manual"}, trigger_id="m")
    day = {"start_at": "2026-03-02T00:00:00Z", "end_at": "2026-03-03T00:00:00Z"}

    async def refused(trigger="t", **changes):
        answer = await hello.post(f"/triggers/{trigger}/backfills", {**day, **changes})
        return answer.status_code, answer.json()["code"]

    assert (422, "INVALID_INPUT") == await refused()  # 1441 times
    assert (422, "INVALID_REQUEST") == await refused(end_at="2020-01-01T00:00:00Z")
    assert (422, "INVALID_REQUEST") == await refused(end_at="2999-01-01T00:00:00Z")
    assert (422, "INVALID_REQUEST") == await refused(start_at="yesterday")
    assert (409, "NO_SCHEDULE") == await refused("m")
    await hello.post("/triggers/t:disable")
    assert (409, "TRIGGER_DISABLED") == await refused()
    assert [] == (await hello.get("/triggers/t/firings")).json()["items"]


async def test_what_cannot_start_says_so_in_the_list_of_firings(firing):
    await make(firing, {"kind": "interval", "every_ms": 1_000})
    await firing.post("/workflows/echo:disable")

    refused = await firing.post("/triggers/t:fire", {})
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = (await firing.get("/triggers/t/firings")).json()["items"]
            if any(one["state"] == "refused" for one in found):
                break
            await asyncio.sleep(0.05)

    assert (409, "WORKFLOW_DISABLED") == (refused.status_code, refused.json()["code"])
    assert "is disabled" in next(one["note"] for one in found if one["state"] == "refused")


async def test_a_run_before_it_is_cancelled_when_the_policy_says_so(firing):
    await firing.create(waiting())
    settings = {"kind": "interval", "every_ms": 1_000, "overlap": "cancel"}
    await make(firing, settings, workflow_id="pause")

    found = await started(firing, many=2)
    first = await firing.ended(
        min(found, key=lambda one: (one["state"] != "started", one["due_at"]))["execution_id"]
    )

    assert "cancelled" == first["status"]


# -- webhooks ------------------------------------------------------------------------------------


async def test_a_signed_request_starts_one_run(firing):
    await make(firing, {"kind": "webhook", "path": "orders"}, secret=SECRET)
    body = b'{"order": 7}'
    url = "/hooks/orders?a=1&b=2&b=3"

    first = await firing.client.post("/api/v1" + url, content=body, headers=signed(body))
    again = await firing.client.post("/api/v1" + url, content=body, headers=signed(body))
    told = await got(firing, first.json()["execution_id"])

    assert [202, 202] == [first.status_code, again.status_code]
    assert first.json() == again.json()
    assert ({"order": 7}, {"a": "1", "b": ["2", "3"]}) == (told["body"], told["query"])
    assert ("POST", "msg_1") == (told["method"], told["headers"]["webhook-id"])
    assert "webhook-signature" not in told["headers"]
    assert 1 == len((await firing.get("/triggers/t/firings")).json()["items"])


async def test_what_is_not_signed_as_it_must_be_starts_nothing(hello):
    await make(hello, {"kind": "webhook", "path": "orders", "max_body_bytes": 50}, secret=SECRET)
    body, other = b"{}", "whsec_" + "A" * 40
    hour = timedelta(hours=1)

    async def call(content=body, **headers):
        answer = await hello.client.post("/api/v1/hooks/orders", content=content, headers=headers)
        return answer.status_code, answer.json()["code"]

    assert (401, "BAD_SIGNATURE") == await call()
    assert (401, "BAD_SIGNATURE") == await call(**signed(body, secret=other))
    assert (401, "BAD_SIGNATURE") == await call(b'{"a":1}', **signed(body))
    assert (401, "BAD_SIGNATURE") == await call(**signed(body, at=now() - hour))
    assert (401, "BAD_SIGNATURE") == await call(**signed(body, at=now() + hour))
    assert (413, "BODY_TOO_LARGE") == await call(b"x" * 51, **signed(b"x" * 51))
    assert (422, "INVALID_INPUT") == await call(b"{", **signed(b"{"))
    assert [] == (await hello.get("/triggers/t/firings")).json()["items"]
    assert 404 == (await hello.client.get("/api/v1/hooks/nothing")).status_code


async def test_a_secret_is_rotated_with_or_without_the_one_before(firing):
    made = await make(firing, {"kind": "webhook", "path": "orders"})
    kept = (await firing.post("/triggers/t:rotate", {"keep_previous": True})).json()
    body = b"{}"

    async def passes(secret, name):
        headers = signed(body, name, secret=secret)
        answer = await firing.client.post("/api/v1/hooks/orders", content=body, headers=headers)
        return answer.status_code == 202

    both = [await passes(made["secret"], "m1"), await passes(kept["secret"], "m2")]
    last = (await firing.post("/triggers/t:rotate", {})).json()

    assert [True, True] == both
    assert [False, True] == [
        await passes(kept["secret"], "m3"),
        await passes(last["secret"], "m4"),
    ]
    assert "secret" not in (await firing.get("/triggers/t")).json()


async def test_any_method_comes_to_a_path_that_nobody_can_guess(firing):
    made = await make(firing, {"kind": "webhook", "signature": "none"})
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        answer = await firing.client.request(method, made["url"], headers={"x-colour": "red"})
        told = await got(firing, answer.json()["execution_id"])

        assert (method, "red", None) == (told["method"], told["headers"]["x-colour"], told["body"])
    assert len(made["settings"]["path"]) >= 32


async def test_bodies_that_are_not_json_come_as_text_or_in_base64(hello):
    made = await make(hello, {"kind": "webhook", "signature": "none"})

    async def told(content):
        answer = await hello.client.post(made["url"], content=content)
        whole = await got(hello, answer.json()["execution_id"])
        return whole["body"], whole["raw"]

    assert ("grüße", None) == await told("grüße".encode())
    assert (None, "/wA=") == await told(b"\xff\x00")


async def test_more_than_a_minute_allows_is_too_many(hello):
    made = await make(hello, {"kind": "webhook", "signature": "none", "per_minute": 2})

    answers = [await hello.client.post(made["url"]) for _ in range(3)]

    assert [202, 202, 429] == [answer.status_code for answer in answers]
    assert 0 < int(answers[-1].headers["retry-after"]) <= 60


async def test_the_answer_can_be_what_the_run_or_a_node_comes_to(firing):
    reply = chain("reply", '{status: 201, headers: {"x-made": "yes"}, body: $trigger.body}')
    await firing.create(reply)
    await firing.create(chain("broken", 'error("no")'))
    await firing.create(waiting())
    plain = {"kind": "webhook", "signature": "none", "timeout_ms": 30_000}

    async def called(workflow, settings):
        made = await make(firing, {**plain, **settings}, trigger_id=None, workflow_id=workflow)
        return await firing.client.post(made["url"], json={"n": 1})

    result = await called("echo", {"respond": "result"})
    node = await called("reply", {"respond": "node", "node_id": "greet"})
    failed = await called("broken", {"respond": "result"})
    missing = await called("broken", {"respond": "node", "node_id": "greet"})
    late = await called("pause", {"respond": "result", "timeout_ms": 300})

    assert (200, {"n": 1}) == (result.status_code, result.json()["got"]["body"])
    assert (201, "yes", {"n": 1}) == (node.status_code, node.headers["x-made"], node.json())
    assert (502, "RUN_FAILED") == (failed.status_code, failed.json()["code"])
    assert (502, "NO_ANSWER") == (missing.status_code, missing.json()["code"])
    assert (202, "running") == (late.status_code, late.json()["status"])


# -- events --------------------------------------------------------------------------------------


STRUCTURED = {"content-type": "application/cloudevents+json"}
EVENT = {
    "specversion": "1.0",
    "id": "e1",
    "source": "/shop",
    "type": "order.made",
    "subject": "order/7",
    "data": {"amount": 120},
}


async def test_an_event_fires_whoever_looks_for_it_once(firing):
    wanted = {
        "exact": {"type": "order.made", "source": "/shop", "where": ".data.amount > 100"},
        "prefix": {"type": "order.*", "subject": "order/*"},
        "small": {"where": ".data.amount < 100"},
        "other": {"type": "order.sent"},
        "failing": {"where": ".data | error"},
    }
    for name, pattern in wanted.items():
        await make(firing, {"kind": "event", **pattern}, trigger_id=name)

    first = await firing.client.post("/api/v1/events", json=EVENT, headers=STRUCTURED)
    again = await firing.client.post("/api/v1/events", json=EVENT, headers=STRUCTURED)
    binary = await firing.client.post(
        "/api/v1/events",
        content=json.dumps({"amount": 5}),
        headers={
            "content-type": "application/json",
            "ce-specversion": "1.0",
            "ce-id": "e2",
            "ce-source": "/sh%20op",
            "ce-type": "order.made",
        },
    )
    fired = {one["trigger_id"]: one for one in first.json()["fired"]}

    assert 202 == first.status_code
    assert {"exact", "prefix"} == set(fired)
    assert ["failing"] == [one.split(":")[0] for one in first.json()["failed"]]
    assert first.json()["fired"] == again.json()["fired"]
    assert EVENT == await got(firing, fired["exact"]["execution_id"])
    (small,) = binary.json()["fired"]
    told = await got(firing, small["execution_id"])
    assert ("/sh op", {"amount": 5}) == (told["source"], told["data"])


@pytest.mark.parametrize(
    ("headers", "body", "said"),
    [
        (STRUCTURED, b"{", "cannot be read"),
        (STRUCTURED, b"[]", "JSON object"),
        (STRUCTURED, b'{"specversion":"0.3"}', "specversion"),
        (STRUCTURED, b'{"specversion":"1.0","id":"","source":"s","type":"t"}', "id"),
        (STRUCTURED, b'{"specversion":"1.0","id":"1","source":5,"type":"t"}', "source"),
        (STRUCTURED, b'{"specversion":"1.0","Id":"1","source":"s","type":"t"}', "lower-case"),
        ({}, b"", "specversion"),
        ({"ce-specversion": "1.0", "ce-id": "1", "ce-source": "s"}, b"", "type"),
        (
            {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "s", "ce-type": "t"},
            b"{",
            "cannot be read",
        ),
    ],
)
async def test_what_is_no_event_is_refused(hello, headers, body, said):
    answer = await hello.client.post("/api/v1/events", content=body, headers=headers)

    assert (422, "INVALID_INPUT") == (answer.status_code, answer.json()["code"])
    assert said in answer.json()["detail"]


async def test_batches_of_events_are_not_taken(hello):
    headers = {"content-type": "application/cloudevents-batch+json"}
    answer = await hello.client.post("/api/v1/events", content=b"[]", headers=headers)

    assert (415, "NO_BATCHES") == (answer.status_code, answer.json()["code"])
