"""Workflows over HTTP: versions that never change, changes that never overwrite another's."""

import asyncio

from api.documents import chain

OTHER = '{text: ("Good day, " + $trigger.name)}'


async def test_a_workflow_is_created_with_its_first_version_published(service):
    answer = await service.post("/workflows", {"definition": chain(), "note": "first"})
    workflow = answer.json()
    versions = (await service.get("/workflows/hello/versions")).json()["items"]

    assert 201 == answer.status_code
    assert '"r1"' == answer.headers["etag"]
    assert "/api/v1/workflows/hello" == answer.headers["location"]
    assert (1, 1, True) == (
        workflow["latest_version"],
        workflow["published_version"],
        workflow["enabled"],
    )
    assert [(1, "first", True)] == [(v["version"], v["note"], v["published"]) for v in versions]
    assert workflow == (await service.get("/workflows/hello")).json()


async def test_yaml_text_is_a_definition_too(service):
    text = "id: hi\nnodes: [{id: start, type: manual_trigger}]\nedges: []\n"

    assert "hi" == (await service.create(text))["workflow_id"]


async def test_a_workflow_is_created_once(service):
    answers = await asyncio.gather(
        *(service.post("/workflows", {"definition": chain()}) for _ in range(5))
    )

    assert [201, 409, 409, 409, 409] == sorted(answer.status_code for answer in answers)
    assert {"WORKFLOW_EXISTS"} == {
        answer.json()["code"] for answer in answers if answer.status_code == 409
    }


async def test_a_version_is_added_published_and_rolled_back(service):
    await service.create(chain())

    added = await service.post("/workflows/hello/versions", {"definition": chain("hello", OTHER)})
    published = await service.post("/workflows/hello:publish", {})
    back = await service.post("/workflows/hello:rollback")
    again = await service.post("/workflows/hello:publish", {"version": 2})

    assert [(201, 2, 1), (200, 2, 2), (200, 2, 1), (200, 2, 2)] == [
        (one.status_code, one.json()["latest_version"], one.json()["published_version"])
        for one in (added, published, back, again)
    ]
    assert ['"r2"', '"r3"', '"r4"', '"r5"'] == [
        one.headers["etag"] for one in (added, published, back, again)
    ]


async def test_new_runs_use_the_published_version_and_old_ones_keep_theirs(service):
    await service.create(chain())
    before = (await service.post("/runs", {"workflow_id": "hello", "input": {"name": "A"}})).json()
    given = {"definition": chain("hello", OTHER), "publish": True}
    await service.post("/workflows/hello/versions", given)
    after = (await service.post("/runs", {"workflow_id": "hello", "input": {"name": "A"}})).json()

    one = await service.ended(before["execution_id"])
    other = await service.ended(after["execution_id"])

    assert ["Hello, A", "Good day, A"] == [one["output"]["text"], other["output"]["text"]]
    snapshot = (await service.get(f"/runs/{before['execution_id']}/definition")).json()
    assert chain()["nodes"] == snapshot["definition"]["nodes"]


async def test_the_same_document_is_not_kept_twice(service):
    await service.create(chain())

    answer = await service.post("/workflows/hello/versions", {"definition": chain()})

    assert 1 == answer.json()["latest_version"]
    assert '"r1"' == answer.headers["etag"]


async def test_a_change_from_an_old_revision_is_refused_and_changes_nothing(service):
    await service.create(chain())
    stale = {"if-match": '"r1"'}
    assert 200 == (await service.post("/workflows/hello:disable", headers=stale)).status_code

    answer = await service.post("/workflows/hello:enable", headers=stale)

    assert (412, "STALE") == (answer.status_code, answer.json()["code"])
    assert not (await service.get("/workflows/hello")).json()["enabled"]


async def test_of_many_changes_from_one_revision_one_is_made(service):
    await service.create(chain())

    answers = await asyncio.gather(
        *(
            service.post(
                "/workflows/hello/versions",
                {"definition": chain("hello", f"{n}")},
                headers={"if-match": '"r1"'},
            )
            for n in range(6)
        )
    )

    assert [201, 412, 412, 412, 412, 412] == sorted(answer.status_code for answer in answers)
    assert 2 == (await service.get("/workflows/hello")).json()["latest_version"]


async def test_who_has_the_current_etag_gets_no_body(service):
    await service.create(chain())

    same = await service.get("/workflows/hello", headers={"if-none-match": '"r1"'})
    other = await service.get("/workflows/hello", headers={"if-none-match": '"r9"'})

    assert (304, b"") == (same.status_code, same.content)
    assert 200 == other.status_code


async def test_a_disabled_or_unpublished_workflow_starts_no_runs(service):
    await service.create(chain())
    await service.create(chain("draft"), publish=False)
    await service.post("/workflows/hello:disable")

    disabled = await service.post("/runs", {"workflow_id": "hello"})
    draft = await service.post("/runs", {"workflow_id": "draft"})
    named = await service.post("/runs", {"workflow_id": "draft", "version": 1})

    assert [(409, "WORKFLOW_DISABLED"), (409, "NOT_PUBLISHED")] == [
        (one.status_code, one.json()["code"]) for one in (disabled, draft)
    ]
    assert 201 == named.status_code


async def test_a_diff_names_nodes_by_their_id(service):
    await service.create(chain())
    await service.post("/workflows/hello/versions", {"definition": chain("hello", OTHER)})

    found = (await service.get("/workflows/hello:diff", params={"before": 1, "after": 2})).json()

    assert [("/nodes/greet/parameters/expression", "changed")] == [
        (one["pointer"], one["change"]) for one in found["differences"]
    ]


async def test_every_problem_of_a_document_is_told_at_once(service):
    bad = {**chain(), "edges": [{"id": "e1", "src": "start", "dst": "gret"}]}
    bad["nodes"][1]["type"] = "transfrom"

    checked = (await service.post("/workflows:validate", {"definition": bad})).json()
    refused = await service.post("/workflows", {"definition": bad})

    assert not checked["valid"]
    assert {"/nodes/1/type", "/edges/0/dst"} <= {one["pointer"] for one in checked["errors"]}
    assert (422, "INVALID_DEFINITION") == (refused.status_code, refused.json()["code"])
    assert [one["message"] for one in checked["errors"]] == [
        one["message"] for one in refused.json()["errors"]
    ]
    assert 404 == (await service.get("/workflows/hello")).status_code


async def test_workflows_are_listed_in_pages_and_found_by_a_part_of_their_id(service):
    for name in ("a1", "b1", "b2", "c1"):
        await service.create(chain(name))

    first = (await service.get("/workflows", params={"limit": 3})).json()
    rest = (
        await service.get("/workflows", params={"limit": 3, "cursor": first["next_cursor"]})
    ).json()
    found = (await service.get("/workflows", params={"q": "b"})).json()

    names = [[one["workflow_id"] for one in page["items"]] for page in (first, rest, found)]
    assert [["a1", "b1", "b2"], ["c1"], ["b1", "b2"]] == names
    assert rest["next_cursor"] is None


async def test_what_was_exported_can_be_imported_and_a_bad_document_changes_nothing(service):
    await service.create(chain("one"))
    exported = (await service.post("/workflows:export")).json()
    fresh, changed = chain("two"), chain("one", OTHER)
    bad = {"id": "three", "nodes": [], "edges": []}
    given = {"format": "onward-workflows-1"}

    same = await service.post("/workflows:import", {**given, "workflows": exported["workflows"]})
    refused = await service.post("/workflows:import", {**given, "workflows": [fresh, bad]})
    missing = await service.get("/workflows/two")
    done = await service.post("/workflows:import", {**given, "workflows": [fresh, changed]})

    assert ["one"] == same.json()["unchanged"]
    assert 422 == refused.status_code
    assert {"/workflows/1"} == {one["pointer"][:12] for one in refused.json()["errors"]}
    assert 404 == missing.status_code
    assert (["two"], ["one"]) == (done.json()["created"], done.json()["changed"])
    assert 2 == (await service.get("/workflows/one")).json()["published_version"]
