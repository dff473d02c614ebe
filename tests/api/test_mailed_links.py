"""Links that a workflow mails itself: real mails, real HTTP, and nothing of them in the history."""

import asyncio
import email
import json
from email import policy

import pytest

from adapters.host.servers import smtp_server
from api.service import PATIENCE_S, distributed, embedded, serving
from api.test_signals import KEY, graph, waits

PUBLIC = "https://onward.example"
PEOPLE = ["ada@test.example", "bob@test.example"]
ASK = {
    "id": "ask",
    "type": "approval",
    "parameters": {"approvers": "$trigger.people", "message": "Pay?"},
}


@pytest.fixture
async def box(monkeypatch):
    monkeypatch.setenv("ONWARD_KEY", KEY)
    async with smtp_server() as one:
        server = {"host": "127.0.0.1", "port": str(one.port), "tls": "none"}
        monkeypatch.setenv(
            "ONWARD_CREDENTIAL_OFFICE", json.dumps({**server, "from": "w@t.example"})
        )
        yield one


@pytest.fixture
async def service(box, place):
    opened = distributed if isinstance(place, list) else embedded
    places = place if isinstance(place, list) else [place]
    async with opened(*places, public_url=PUBLIC) as backend, serving(backend) as one:
        yield one


@pytest.fixture
async def local(box, tmp_path):
    async with embedded(tmp_path, public_url=PUBLIC) as backend, serving(backend) as one:
        yield one


def mail(text, links, to="$item", **more):
    given = {"to": to, "subject": "Please", "text": text, **more}
    return {
        "id": "mail",
        "type": "smtp",
        "credentials": "office",
        "parameters": given,
        "links": links,
    }


def mailing():
    """Mail everybody who is asked a link of their own, and then ask them."""
    decide = {"decide": {"approval": "ask", "approver": "$item"}}
    return graph(
        {"id": "each", "type": "split", "parameters": {"input_array": "$trigger.people"}},
        mail("Decide: {{ $execution.links.decide }} or not", decide),
        {"id": "sent", "type": "aggregator"},
        ASK,
    )


async def mails(box, many):
    """Return whom mails went to, and their texts, once there are so many."""
    async with asyncio.timeout(PATIENCE_S):
        while len(box.envelopes) < many:
            await asyncio.sleep(0.02)
    return {
        envelope.rcpt_tos[0]: email.message_from_bytes(envelope.content, policy=policy.default)
        .get_content()
        .strip()
        for envelope in box.envelopes
    }


def link_in(text):
    """Return the path of the link in a mail."""
    (link,) = [one for one in text.split() if one.startswith(PUBLIC)]
    return link.removeprefix(PUBLIC)


async def all_that_is_kept(service, run):
    """Return every byte that can be read of a run, and its log."""
    found = [str(await service.events(run))]
    for part in ("", "/nodes", "/visits", "/context", "/signals", ":explain"):
        found.append((await service.get(f"/runs/{run}{part}")).text)
    for visit in (await service.get(f"/runs/{run}/visits")).json()["items"]:
        given = {"token_id": visit["token_id"], "node_id": visit["node_id"]}
        found.append((await service.get(f"/runs/{run}/data", params=given)).text)
    return "\n".join(found)


async def test_approvers_decide_by_links_that_the_workflow_has_mailed(service, box):
    run = await service.start(mailing(), {"people": PEOPLE})
    texts = await mails(box, 2)
    links = {who: link_in(text) for who, text in texts.items()}
    await waits(service, run)

    page = await service.client.get(links[PEOPLE[0]])
    answers = [
        await service.client.post(link, json={"decision": "approve"}) for link in links.values()
    ]
    ended = await service.ended(run)
    kept = await all_that_is_kept(service, run)
    output = (await service.get(f"/runs/{run}/data", params={"entry": "$ask"})).json()["value"]

    assert set(PEOPLE) == set(links)
    assert (200, True) == (page.status_code, "Pay?" in page.text)
    assert [200, 200] == [answer.status_code for answer in answers]
    assert "completed" == ended["status"]
    assert set(PEOPLE) == {one["by"] for one in output["decisions"]}
    for link in links.values():
        _, _, token = link.rpartition("/")
        assert token not in kept
        assert token.partition(".")[2] not in kept


async def test_a_decision_that_comes_before_the_run_asks_for_it_is_kept(service, box):
    decide = {"decide": {"approval": "ask", "approver": "$trigger.people[0]"}}
    document = graph(
        mail("{{ $execution.links.decide }}", decide, to=PEOPLE[0]),
        {"id": "hold", "type": "wait_for_signal", "parameters": {"signal": "go"}},
        ASK,
    )
    run = await service.start(document, {"people": PEOPLE[:1]})
    link = link_in((await mails(box, 1))[PEOPLE[0]])
    await waits(service, run)

    page = await service.client.get(link)
    early = await service.client.post(link, json={"decision": "approve"})
    again = await service.client.post(link, json={"decision": "reject"})
    await service.post(f"/runs/{run}/signals/go", {})

    assert "completed" == (await service.ended(run))["status"]
    assert [200, 200, 409] == [one.status_code for one in (page, early, again)]
    assert "ALREADY_DECIDED" == again.json()["code"]


async def test_a_mailed_callback_brings_what_a_wait_waits_for(service, box):
    back = {"back": {"signal": "paid", "key": "{{ $trigger.order }}"}}
    document = graph(
        mail("{{ $execution.links.back }}", back, to=PEOPLE[0]),
        {
            "id": "hold",
            "type": "wait_for_signal",
            "parameters": {"signal": "paid", "key": "$trigger.order"},
        },
    )
    run = await service.start(document, {"order": 7})
    link = link_in((await mails(box, 1))[PEOPLE[0]])

    answer = await service.client.post(link, json={"amount": 3})

    assert 202 == answer.status_code
    assert "completed" == (await service.ended(run))["status"]
    output = (await service.get(f"/runs/{run}/data", params={"entry": "$hold"})).json()["value"]
    assert {"amount": 3} == output


async def test_each_item_of_a_split_asks_by_itself(local, box):
    decide = {"decide": {"approval": "ask", "approver": "$item", "lasts": 60}}
    document = graph(
        {"id": "each", "type": "split", "parameters": {"input_array": "$trigger.people"}},
        mail("{{ $execution.links.decide }}", decide),
        {"id": "ask", "type": "approval", "parameters": {"approvers": ["{{ $item }}"]}},
        {"id": "all", "type": "aggregator", "parameters": {"collect": "$ask.decision"}},
    )
    run = await local.start(document, {"people": PEOPLE})
    texts = await mails(box, 2)
    await waits(local, run, 2)

    for who, answer in zip(PEOPLE, ("approve", "reject"), strict=True):
        given = {"decision": answer}
        assert 200 == (await local.client.post(link_in(texts[who]), json=given)).status_code
    await local.ended(run)

    output = (await local.get(f"/runs/{run}/data", params={"entry": "$all"})).json()["value"]
    assert "approved" == output[0]
    assert "REJECTED" == output[1]["error"]["code"]


async def test_whoever_is_not_asked_decides_nothing(local, box):
    wrong = {"decide": {"approval": "ask", "approver": "eve@test.example"}}
    document = graph(mail("{{ $execution.links.decide }}", wrong, to=PEOPLE[0]), ASK)
    run = await local.start(document, {"people": PEOPLE[:1]})
    link = link_in((await mails(box, 1))[PEOPLE[0]])
    await waits(local, run)

    answer = await local.client.post(link, json={"decision": "approve"})

    assert (409, "NOTHING_TO_DECIDE") == (answer.status_code, answer.json()["code"])
    assert (await local.get(f"/runs/{run}")).json()["ended_at"] is None


async def test_without_a_public_address_a_node_that_hands_out_links_fails(box, tmp_path):
    back = {"back": {"signal": "paid"}}
    document = graph(mail("{{ $execution.links.back }}", back, to=PEOPLE[0]))
    async with embedded(tmp_path) as backend, serving(backend) as one:
        ended = await one.ended(await one.start(document))

    assert ("halted", "NO_LINKS") == (ended["status"], ended["error"]["code"])
    assert "--public-url" in ended["error"]["message"]
    assert [] == box.envelopes
