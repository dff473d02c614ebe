"""What is kept about triggers: secrets that are sealed, and which run came of which."""

import base64

from api.test_triggers import ECHO, EVENT, SECRET, STRUCTURED, firing, hello, make, signed
from onward import AsyncEngine
from onward.adapters.host.log import HostLog
from onward.runtime.triggers.secrets import seal_secrets

__all__ = ["firing", "hello"]


async def test_a_run_says_which_trigger_started_it_and_is_found_by_it(firing):
    await make(firing, {"kind": "event", "type": "order.made"}, trigger_id="orders")
    await make(firing, {"kind": "manual"}, trigger_id="by_hand")
    taken = await firing.client.post("/api/v1/events", json=EVENT, headers=STRUCTURED)
    hand = await firing.post("/triggers/by_hand:fire", {})
    plain = await firing.start(ECHO)
    (fired,) = taken.json()["fired"]
    runs = {
        name: (await firing.get("/runs", params={"trigger_id": name})).json()["items"]
        for name in ("orders", "by_hand", "nobody")
    }
    async with AsyncEngine.connect(firing.url) as engine:
        told = [run.trigger async for run in engine.runs(trigger_id="orders")]
    shown = (await firing.get(f"/runs/{fired['execution_id']}")).json()

    assert {"trigger_id": "orders", "kind": "event"} == shown["trigger"]
    assert [shown["trigger"]] == told
    assert [fired["execution_id"]] == [run["execution_id"] for run in runs["orders"]]
    assert [{"trigger_id": "by_hand", "kind": "manual"}] == [
        run["trigger"] for run in runs["by_hand"]
    ]
    assert hand.json()["execution_id"] == runs["by_hand"][0]["execution_id"]
    assert [] == runs["nobody"]
    assert (await firing.get(f"/runs/{plain}")).json()["trigger"] is None


async def test_the_secret_of_a_webhook_is_sealed_and_one_from_before_is_sealed_at_the_start(
    service, place
):
    await service.create(ECHO)
    made = await make(service, {"kind": "webhook", "path": "orders"})
    triggers = service.backend.triggers
    sealed = await triggers.trigger("t")
    await triggers.keep_secrets(sealed, [SECRET])  # as an earlier release kept it
    plain = await hook(service, SECRET, "before")
    await seal_secrets(triggers, service.backend.sealer, HostLog())
    after = await triggers.trigger("t")
    again = await hook(service, SECRET, "after")
    told = (await service.get("/triggers/t")).text + (await service.get("/triggers")).text

    assert made["secret"].startswith("whsec_")
    assert all(one.startswith("sealed:") for one in (*sealed.secrets, *after.secrets))
    assert made["secret"] not in "".join(sealed.secrets)
    assert (202, 202) == (plain.status_code, again.status_code)
    assert sealed.revision == after.revision
    assert "sealed" not in told
    assert SECRET not in told


async def test_a_sealed_secret_is_good_for_its_own_trigger_alone(hello, caplog):
    await make(hello, {"kind": "webhook", "path": "mine"}, trigger_id="mine", secret=SECRET)
    await make(hello, {"kind": "webhook", "path": "orders"})
    triggers = hello.backend.triggers
    mine, theirs = await triggers.trigger("mine"), await triggers.trigger("t")
    await triggers.keep_secrets(theirs, mine.secrets)

    answer = await hook(hello, SECRET, "m1")

    assert (503, "UNAVAILABLE") == (answer.status_code, answer.json()["code"])
    assert "damaged or was tampered with" in caplog.text
    assert "tampered" not in answer.text


async def test_secrets_of_webhooks_follow_the_newest_key(service, monkeypatch):
    old, new = (base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2))
    monkeypatch.setenv("ONWARD_KEY", old)
    await service.create(ECHO)
    made = await make(service, {"kind": "webhook", "path": "orders"})
    monkeypatch.setenv("ONWARD_KEY", f"{new},{old}")
    rotated = await service.post("/credentials:rotate")
    monkeypatch.setenv("ONWARD_KEY", new)

    assert 1 == rotated.json()["triggers"]
    assert 202 == (await hook(service, made["secret"], "m1")).status_code


async def hook(service, secret, message_id):
    """Call the webhook `orders` as its sender does."""
    headers = signed(b"{}", message_id, secret=secret)
    return await service.client.post("/api/v1/hooks/orders", content=b"{}", headers=headers)
