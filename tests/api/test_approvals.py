"""Approvals over real HTTP: n of m, by signed links that decide once, and never by looking."""

import asyncio
import stat

import pytest

from api.test_signals import KEY, graph, waits
from onward.adapters.host.keys import KeyRing
from onward.adapters.host.signer import HostSigner
from onward.errors import CredentialError
from onward.runtime.signals.signed_links import LinkGrant, write_link


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("ONWARD_KEY", KEY)


def asking(**parameters):
    """A node that asks three people, and branches for each answer."""
    given = {"approvers": ["ada", "bob", "cy"], "required": 2, "message": "Pay <17>?"}
    branches = {"approved_edge_id": "yes", "rejected_edge_id": "no"}
    document = graph(
        {"id": "ask", "type": "approval", "parameters": {**given, **branches, **parameters}}
    )
    for edge, node in (("yes", "paid"), ("no", "refused"), ("late", "expired")):
        if edge != "late" or "expired_edge_id" in parameters:
            document["nodes"].append({"id": node, "type": "noop"})
            document["edges"].append({"id": edge, "src": "ask", "dst": node})
    return document


async def links(service, run):
    (wait,) = await waits(service, run)
    return {one["approver"]: one["url"] for one in wait["links"]}


async def decide(service, url, decision="approve", comment=""):
    return await service.client.post(url, json={"decision": decision, "comment": comment})


async def ask_context(service, run):
    answer = await service.get(f"/runs/{run}/data", params={"entry": "$ask"})
    return answer.json()["value"]


async def test_so_many_as_are_required_approve(service):
    run = await service.start(asking())
    urls = await links(service, run)

    first = await decide(service, urls["ada"], comment="fine")
    async with asyncio.timeout(60):
        while len(await links(service, run)) == 3:
            await asyncio.sleep(0.02)
    (between,) = await waits(service, run)
    second = await decide(service, urls["cy"])
    ended = await service.ended(run)
    came_to = await ask_context(service, run)

    assert [200, 200] == [first.status_code, second.status_code]
    assert ["ada"] == [one["by"] for one in between["decisions"]]
    assert ("completed", ["paid"]) == (ended["status"], ended["output_nodes"])
    assert ("approved", 2) == (came_to["decision"], came_to["required"])
    assert [("ada", "approve", "fine"), ("cy", "approve", "")] == [
        (one["by"], one["decision"], one["comment"]) for one in came_to["decisions"]
    ]


async def test_when_too_many_reject_it_is_rejected(service):
    run = await service.start(asking())
    urls = await links(service, run)

    for person in ("ada", "bob"):
        assert 200 == (await decide(service, urls[person], "reject", "no money")).status_code
    ended = await service.ended(run)

    assert ["refused"] == ended["output_nodes"]
    assert "rejected" == (await ask_context(service, run))["decision"]


async def test_without_a_branch_a_rejection_is_a_failure(service):
    document = graph({"id": "ask", "type": "approval", "parameters": {"approvers": ["ada"]}})
    run = await service.start(document)
    urls = await links(service, run)

    await decide(service, urls["ada"], "reject", "too dear")
    ended = await service.ended(run)

    assert ("halted", "REJECTED") == (ended["status"], ended["error"]["code"])
    assert "ada: too dear" in ended["error"]["message"]


async def test_what_nobody_decides_expires(service):
    run = await service.start(asking(timeout=0.2, expired_edge_id="late"))

    ended = await service.ended(run)

    assert ["expired"] == ended["output_nodes"]
    assert "expired" == (await ask_context(service, run))["decision"]


async def test_looking_at_a_link_shows_a_page_and_decides_nothing(service):
    run = await service.start(asking())
    urls = await links(service, run)

    pages = [await service.client.get(urls["ada"]) for _ in range(2)]

    assert [200, 200] == [page.status_code for page in pages]
    assert "text/html" in pages[0].headers["content-type"]
    assert "Pay &lt;17&gt;?" in pages[0].text
    assert urls.keys() == (await links(service, run)).keys()
    assert [] == (await service.get(f"/runs/{run}/signals")).json()["items"]


async def test_a_form_decides_and_answers_with_a_page(service):
    run = await service.start(asking(required=1))
    urls = await links(service, run)

    page = await service.client.post(urls["bob"], data={"decision": "approve", "comment": "ok"})

    assert (200, True) == (page.status_code, "You have approved" in page.text)
    assert ["paid"] == (await service.ended(run))["output_nodes"]


async def test_a_decision_stands(service):
    run = await service.start(asking())
    urls = await links(service, run)

    first = await decide(service, urls["ada"], "reject")
    again = await asyncio.gather(*(decide(service, urls["ada"]) for _ in range(3)))

    assert 200 == first.status_code
    assert {(409, "ALREADY_DECIDED")} == {(one.status_code, one.json()["code"]) for one in again}
    decided = [
        one["payload"]["decision"]
        for one in (await service.get(f"/runs/{run}/signals")).json()["items"]
    ]
    assert ["reject"] == decided


async def test_links_that_are_forged_changed_expired_or_of_another_kind_are_refused(local):
    run = await local.start(asking())
    urls = await links(local, run)
    base, _, link = urls["ada"].rpartition("/")
    body, _, signature = link.partition(".")
    old = LinkGrant(
        purpose="approval",
        execution_id=run,
        address="approval:ask",
        person="ada",
        expires_ms=1,
    )
    expired = write_link(local.backend.signer, old)

    refusals = [
        await decide(local, f"{base}/nonsense"),
        await decide(local, f"{base}/{body}x.{signature}"),
        await decide(local, f"{base}/{body}.{signature[:-2]}"),
        await decide(local, f"{base}/{expired}"),
        await local.client.post(urls["ada"].replace("approvals", "callbacks"), json=1),
        await decide(local, urls["ada"], "maybe"),
        await local.client.post(urls["ada"], content=b"{", headers={"content-type": "text/plain"}),
    ]

    assert [
        (403, "BAD_LINK"),
        (403, "BAD_LINK"),
        (403, "BAD_LINK"),
        (410, "LINK_EXPIRED"),
        (403, "BAD_LINK"),
        (422, "INVALID_REQUEST"),
        (415, "NOT_JSON"),
    ] == [(refusal.status_code, refusal.json()["code"]) for refusal in refusals]


async def test_when_it_is_decided_nothing_is_left_to_decide(local):
    run = await local.start(asking(required=1))
    urls = await links(local, run)
    await decide(local, urls["ada"])
    await local.ended(run)

    late = await decide(local, urls["bob"])
    page = await local.client.get(urls["bob"])

    assert (409, "NOTHING_TO_DECIDE") == (late.status_code, late.json()["code"])
    assert 409 == page.status_code


async def test_a_browser_is_told_in_a_page_why_a_link_does_not_work(local):
    person = "<script>alert(1)</script>"
    run = await local.start(asking(approvers=[person, "bob"], required=1))
    urls = await links(local, run)
    base, _, link = urls[person].rpartition("/")
    old = LinkGrant(
        purpose="approval", execution_id=run, address="approval:ask", person=person, expires_ms=1
    )
    expired = write_link(local.backend.signer, old)
    accept = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    await decide(local, urls[person])
    await local.ended(run)

    refusals = {
        "This link does not work": await local.client.get(f"{base}/{link}x", headers=accept),
        "This link has expired": await local.client.get(f"{base}/{expired}", headers=accept),
        "You have decided already": await local.client.get(urls[person], headers=accept),
        "There is nothing to decide any more": await local.client.post(
            urls["bob"], data={"decision": "approve"}, headers=accept
        ),
        "This did not work": await local.client.post(
            urls["bob"], data={"decision": "<b>maybe</b>"}, headers=accept
        ),
    }
    for_programs = await local.client.get(urls[person], headers={"accept": "application/json"})

    for title, answer in refusals.items():
        assert f"<h1>{title}</h1>" in answer.text
        assert "text/html" in answer.headers["content-type"]
        assert "<script" not in answer.text
        assert "<b>" not in answer.text
    assert [403, 410, 409, 409, 422] == [refusal.status_code for refusal in refusals.values()]
    assert "application/problem+json" == for_programs.headers["content-type"]
    assert (409, "ALREADY_DECIDED") == (for_programs.status_code, for_programs.json()["code"])


async def test_the_same_link_too_often_is_put_off(local):
    run = await local.start(asking())
    urls = await links(local, run)

    answers = [await local.client.get(f"{urls['ada']}x") for _ in range(100)]

    assert 429 in {answer.status_code for answer in answers}


def test_the_first_signature_makes_a_key_that_only_its_owner_reads(tmp_path):
    file = tmp_path / "links.key"
    signer = HostSigner(KeyRing({}, file), makes_key=True)

    signature = signer.sign(b"data")

    assert 0o600 == stat.S_IMODE(file.stat().st_mode)
    assert signer.verifies(b"data", signature)
    assert not signer.verifies(b"date", signature)
    KeyRing({}, file).add()
    assert signer.verifies(b"data", signature)
    assert signature != signer.sign(b"data")


def test_without_a_key_nothing_is_signed_where_others_would_need_it():
    with pytest.raises(CredentialError, match="ONWARD_KEY"):
        HostSigner(KeyRing({}, None), makes_key=False).sign(b"data")
