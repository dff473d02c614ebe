"""The audit log: every change once, with who and from where, and no secret in it."""

from api.documents import chain
from api.people import PASSWORD, administration_of, guarded
from api.service import serving
from onward.api.http.identity import Access
from onward.errors import StorageError
from onward.ports.security.audit import AuditEntry
from onward.runtime.security.audit import Auditor, AuditRecord

DAY_MS = 24 * 60 * 60 * 1000


async def test_every_change_is_written_down_and_nothing_else(backend):
    async with guarded(backend) as door:
        await door.ask("POST", "/workflows", "editor", json={"definition": chain()})
        await door.ask(
            "POST", "/workflows/hello:disable", "editor", headers={"x-request-id": "r-1"}
        )
        await door.ask("POST", "/workflows/none:disable", "editor")
        await door.ask("GET", "/workflows", "viewer")
        await door.ask("POST", "/workflows/hello:enable", "viewer")
        await door.ask("POST", "/workflows/hello:enable", "operator")
        given = {"name": "ada", "role": "viewer", "password": PASSWORD}
        await door.ask("POST", "/users", "admin", json=given)
        page = (await door.ask("GET", "/audit", "admin")).json()

    found = [
        (one["actor"], one["action"], one["target"], one["before"] != "", one["after"] != "")
        for one in reversed(page["items"])
    ]
    assert [
        ("token:editor", "create_workflow", "workflow hello", False, True),
        ("token:editor", "disable_workflow", "workflow hello", True, True),
        ("operator", "enable_workflow", "workflow hello", True, True),
        ("token:admin", "create_user", "user ada", False, True),
    ] == found
    disabled, enabled = page["items"][2], page["items"][1]
    assert ("127.0.0.1", "r-1") == (disabled["origin"], disabled["request_id"])
    assert disabled["after"] == enabled["before"]
    assert PASSWORD not in str(page)


async def test_logins_are_written_down_also_those_that_were_refused(backend):
    await administration_of(backend).add_user("ada", "viewer", PASSWORD)
    async with guarded(backend) as door:
        for name, password in (("ada", "wrong"), ("hunter2", "x"), ("ada", PASSWORD)):
            await door.ask("POST", "/login", json={"name": name, "password": password})
        page = (await door.ask("GET", "/audit", "admin")).json()

    assert [
        ("nobody", "log_in_refused", "user ada"),
        ("nobody", "log_in_refused", "/api/v1/login"),  # a password may be typed as a name
        ("user:ada", "log_in", "user ada"),
    ] == [(one["actor"], one["action"], one["target"]) for one in reversed(page["items"])]


async def test_it_comes_in_pages_and_filtered(service):
    for number in range(5):
        await service.create(chain(f"w{number}"))
    await service.post("/workflows/w3:disable")
    seen, cursor = [], None
    while True:
        params = {"limit": 4, **({"cursor": cursor} if cursor else {})}
        page = (await service.get("/audit", params=params)).json()
        seen += [one["target"] for one in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    some = (await service.get("/audit", params={"target": "workflow w3"})).json()["items"]
    mine = (await service.get("/audit", params={"actor": "local"})).json()["items"]
    none = (await service.get("/audit", params={"action": "cancel_run"})).json()["items"]

    assert ["workflow w3", *(f"workflow w{n}" for n in (4, 3, 2, 1, 0))] == seen
    assert ["disable_workflow", "create_workflow"] == [one["action"] for one in some]
    assert (6, 0) == (len(mine), len(none))


async def test_old_entries_are_dropped(backend):
    log, now_ms = backend.access.audit, backend.clock.now_ms()
    for age in (3, 1):
        await log.write(_entry(now_ms - age * DAY_MS, f"{age} days old"))
    async with serving(backend, Access(audit_kept_ms=2 * DAY_MS)) as service:
        await service.create(chain())
        kept = [one["target"] for one in (await service.get("/audit")).json()["items"]]

    assert ["workflow hello", "1 days old"] == kept


async def test_a_change_that_cannot_be_written_down_is_told_to_the_log(local, monkeypatch):
    told = []
    log = local.backend.access.audit
    auditor = Auditor(log, local.backend.clock, told.append, DAY_MS)

    async def refuse(*_):
        raise StorageError("the disk is full")

    monkeypatch.setattr(log, "write", refuse, raising=False)
    await auditor.write(AuditRecord("x", "y"), actor="local", origin="", request_id="r")

    assert 1 == len(told)
    assert "the disk is full" in told[0]
    assert '"action":"x"' in told[0]


def _entry(at_ms, target):
    return AuditEntry(
        at_ms=at_ms,
        actor="local",
        action="x",
        target=target,
        origin="",
        request_id="",
        before="",
        after="",
    )
