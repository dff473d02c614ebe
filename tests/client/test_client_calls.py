"""The rest of the client: control, triggers, access and operations, the same on every engine."""

import asyncio
import inspect

import pytest

import onward
from api.documents import chain, fan_out, waiting
from api.service import PATIENCE_S, distributed, embedded
from api.test_signals import KEY, graph
from client.test_client import behind
from onward import AsyncEngine, AsyncRun, Engine, Run

ASKING = graph(
    {"id": "paid", "type": "wait_for_signal", "parameters": {"signal": "paid"}},
    {"id": "sent", "type": "wait_for_signal", "parameters": {"signal": "sent"}},
    {"id": "agreed", "type": "approval", "parameters": {"approvers": ["ada"]}},
)


@pytest.fixture(params=["inside", "embedded", "distributed"])
def opened(request, tmp_path, monkeypatch):
    """An engine in this process, and one behind each kind of server, to be opened."""
    monkeypatch.setenv("ONWARD_KEY", KEY)
    if request.param == "inside":
        return AsyncEngine.embedded(tmp_path / "onward.db")
    if request.param == "embedded":
        return behind(embedded(tmp_path))
    names = ("rabbitmq", "redis", "postgres")
    return behind(distributed(*[request.getfixturevalue(f"{name}_url") for name in names]))


@pytest.fixture
async def engine(opened):
    async with opened as one:
        yield one


async def until(look, found):
    """Look until it is found, and return what was seen."""
    async with asyncio.timeout(PATIENCE_S):
        while not found(seen := await look()):
            await asyncio.sleep(0.02)
    return seen


async def test_runs_are_paused_resumed_tried_again_and_cancelled_together(engine):
    run = await engine.start(waiting(), priority=3, timeout_ms=3_600_000)
    paused = await until(run.pause, lambda info: info.paused_at is not None)
    resumed = await run.resume()
    both = [run.id, (await engine.start(waiting("other"))).id]
    await until(engine.run(both[1]).info, lambda info: info.status == "running")
    held = await engine.pause_runs(both)
    going_on = await engine.resume_runs(both)
    done = await engine.cancel_runs(workflow_id="other", reason="enough")
    await until(engine.run(both[1]).info, lambda info: info.ended_at is not None)
    again = await engine.retry_runs([both[1]])
    attempt = engine.run(again["items"][0]["attempt"])

    assert (3, True) == (paused.priority, paused.deadline_at is not None)
    assert resumed.paused_at is None
    assert (2, 2) == (held["done"], going_on["done"])
    assert ([both[1]], 1) == ([one["execution_id"] for one in done["items"]], done["done"])
    assert both[1] == (await attempt.info()).retry_of


async def test_one_run_is_tried_again_from_a_node(engine):
    run = await engine.start(fan_out(), {"items": [1, 2, 3]})
    await run.wait(PATIENCE_S)

    again = await run.retry(from_nodes=["double"], item="each[0]")
    info = await again.wait(PATIENCE_S)

    assert ("completed", run.id) == (info.status, info.retry_of)
    with pytest.raises(onward.MissingError):
        await again.adjust("each", max_concurrency=2)
    assert {"parent": None, "items": []} == await run.family()


async def test_a_run_is_reached_from_outside(engine):
    run = await engine.start(ASKING)
    sent = [await run.signal("paid", {"amount": 7}, signal_id="one") for _ in range(2)]
    (wait,) = await until(run.waits, lambda told: [one["signal"] for one in told] == ["sent"])
    await engine.call_back(wait["callback_url"], {"by": "mail"})
    (wait,) = await until(run.waits, lambda told: [one["kind"] for one in told] == ["approval"])
    decided = await engine.decide(wait["links"][0]["url"], "approve", "fine")

    await run.result(PATIENCE_S)

    assert sent[0]["signal_id"] == sent[1]["signal_id"]
    assert ("ada", "approve", "fine") == tuple(decided[k] for k in ("by", "decision", "comment"))
    assert {"paid", "sent"} <= {signal["signal"] async for signal in run.signals()}


async def test_triggers_are_kept_and_fired(engine):
    await engine.push(chain())
    daily = {"kind": "cron", "expression": "@daily"}
    await engine.add_trigger("hello", daily, trigger_id="t")
    await engine.add_trigger("hello", {"kind": "webhook", "path": "h"}, trigger_id="h")
    await engine.add_trigger("hello", {"kind": "event", "type": "paid"}, trigger_id="e")
    changed = await engine.change_trigger("t", {**daily, "expression": "@hourly"})
    after = "2026-03-01T00:30:00Z"
    fired = await engine.fire_trigger("t", {"name": "Ada"}, key="one")
    again = await engine.fire_trigger("t", {"name": "Ada"}, key="one")
    event = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "paid", "name": "Ada"}
    told = await engine.emit(event)

    assert "@hourly" == changed["settings"]["expression"]
    assert ["2026-03-01T01:00:00.000Z"] == await engine.next_times("t", 1, after)
    assert ["2026-03-02T00:00:00.000Z"] == await engine.preview_schedule(daily, 1, after)
    assert fired["execution_id"] == again["execution_id"]
    assert ["e"] == [one["trigger_id"] for one in told["fired"]]
    assert 1 == len([firing async for firing in engine.firings("t")])
    assert (await engine.rotate_trigger("h", keep_previous=True))["secret"].startswith("whsec_")
    assert not (await engine.disable_trigger("t"))["enabled"]
    assert (await engine.enable_trigger("t"))["enabled"]
    times = await engine.backfill_trigger("t", "2026-03-01T00:00:00Z", "2026-03-01T01:00:00Z")
    assert {"times": 2, "added": 2} == times
    await engine.remove_trigger("t")
    assert ["e", "h"] == [trigger["trigger_id"] async for trigger in engine.triggers("hello")]
    assert "h" == (await engine.trigger("h"))["settings"]["path"]


async def test_people_programs_and_secrets_are_let_in(engine):
    await engine.add_user("ada", "admin", "correct horse battery")
    changed = await engine.change_user("ada", enabled=True)
    made = await engine.create_token("ci", "viewer", workflows=["a"], expires_in_s=3600)
    revoked = await engine.revoke_token(made["token_id"])
    await engine.add_credential("pay", "http_bearer", {"token": "s3cret"}, workflows=["a"])
    allowed = await engine.change_credential("pay")
    trial = await engine.test_credential("pay", "http://127.0.0.1:1/")

    assert ("ada", True) == (changed["name"], (await engine.user("ada"))["enabled"])
    assert ["ada"] == [user["name"] for user in await engine.users()]
    assert (True, False) == (made["counts"], revoked["counts"])
    assert [made["token_id"]] == [token["token_id"] async for token in engine.tokens()]
    assert not (await engine.token(made["token_id"]))["counts"]
    assert (None, False) == (allowed["workflows"], trial["ok"])
    assert ["pay"] == [credential["name"] async for credential in engine.credentials()]
    assert [] == await engine.credential_usage("pay")
    assert "smtp" in {type_["type"] for type_ in await engine.credential_types()}
    assert 0 == await engine.rotate_credentials()
    assert "http_bearer" == (await engine.credential("pay"))["type"]
    await engine.remove_credential("pay")
    with pytest.raises(onward.ConflictError):
        await engine.remove_user("ada")
    assert "admin" == (await engine.me())["role"]
    actions = [one["action"] async for one in engine.audit(target="credential pay")]
    assert ["delete_credential", "change_credential", "create_credential"] == [
        action for action in actions if action != "test_credential"
    ]


async def test_what_is_behind_runs_is_looked_at_and_set(engine):
    await engine.push(chain())
    run = await engine.start("hello", {"name": "Ada"})
    await run.wait(PATIENCE_S)
    rule = await engine.set_flow("hello", concurrency=1)

    assert rule == await engine.flow("hello")
    await engine.drop_flow("hello")
    with pytest.raises(onward.MissingError):
        await engine.flow("hello")
    assert "http" == (await engine.node_type("http"))["type"]
    assert "http" in {type_["type"] for type_ in await engine.node_types()}
    assert [] == await engine.discard_messages()
    with pytest.raises(onward.InvalidError):
        await engine.discard_messages([7])
    events = await until(
        lambda: _past(engine, run.id), lambda found: "run.ended" in [one.type for one in found]
    )
    assert [1, 2] == [event.seq for event in events][:2]


async def _past(engine, run):
    return [event async for event in engine.past_events(runs=[run])]


def test_many_things_at_once_without_an_event_loop(tmp_path):
    with Engine.embedded(tmp_path / "onward.db") as engine:
        run = engine.start(waiting(), priority=2)
        engine.push(chain())
        engine.add_trigger("hello", {"kind": "manual"}, trigger_id="t")

        assert 2 == run.info().priority
        assert run.pause().paused_at is not None
        assert run.resume().paused_at is None
        assert [] == run.waits()
        assert 1 == engine.cancel_runs([run.id])["done"]
        assert run.id == run.retry().info().retry_of
        assert ["t"] == [trigger["trigger_id"] for trigger in engine.triggers()]
        assert "create_trigger" in [one["action"] for one in engine.audit()]


@pytest.mark.parametrize(("waits", "awaits"), [(Engine, AsyncEngine), (Run, AsyncRun)])
def test_both_clients_have_the_same_methods_with_the_same_words(waits, awaits):
    only_async = {"get", "post", "pages", "ask", "transport"}
    mine = {name for name in dir(waits) if not name.startswith("_")}
    theirs = {name for name in dir(awaits) if not name.startswith("_")} - only_async

    assert set() == theirs - mine
    for name in theirs & mine:
        assert inspect.getdoc(getattr(waits, name)), name
