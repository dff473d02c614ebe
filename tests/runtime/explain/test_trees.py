"""What a run of the Serverless Workflow DSL waits for, in the words of its document."""

import pytest

from languages.serverless.lab import workflow
from onward.bootstrap.embedded import open_engine
from onward.bootstrap.settings import EmbeddedSettings
from onward.languages.serverless.program import ServerlessProgram
from onward.languages.serverless.read.document import parse_definition
from onward.nodes.serverless.catalogue import calls
from runtime.cluster.lab import until
from support.explanation import explain_in_file

SLOW = {"wait": "PT1H"}
QUICK = {"set": {"n": 1}}
BOOM = {"raise": {"error": {"type": "https://example.com/e", "status": 503, "title": "Busy"}}}
LISTEN = {"listen": {"to": {"any": [{"with": {"type": "paid"}}, {"with": {"type": "late"}}]}}}
RETRY = {"retry": {"delay": "PT1H", "limit": {"attempt": {"count": 3}}}}


@pytest.fixture
async def waits(tmp_path):
    path = tmp_path / "onward.db"
    async with open_engine(EmbeddedSettings(database=path)) as engine:

        async def said(document, many):
            """Return what a run is said to wait for, once that is `many` things that last."""
            program = ServerlessProgram(parse_definition(document), calls)
            run = await engine.start(program, program.document.source, {})
            seen = []

            async def told():
                found = await explain_in_file(run, path)
                seen[:] = [found]
                kinds = [wait.kind for wait in found.waits]
                return len(kinds) == many and "work" not in kinds

            await until(told)
            return seen[0]

        yield said


async def test_a_fork_names_the_branches_that_have_not_ended(waits):
    branches = [{"a": SLOW}, {"b": QUICK}, {"c": {"do": [{"d": SLOW}]}}]
    found = await waits(workflow({"one": QUICK}, {"all": {"fork": {"branches": branches}}}), 3)

    fork = next(wait for wait in found.waits if wait.kind == "fork")
    assert "waits for branches a, c of fork /do/1/all, 1 of 3 ended" == fork.text
    assert ("/do/1/all/fork/branches/0/a", "/do/1/all/fork/branches/2/c") == fork.missing
    assert (1, 3, "/do/1/all") == (fork.done, fork.total, fork.node)
    timers = sorted(wait.text for wait in found.waits if wait.kind == "timer")
    assert timers[0].startswith("/do/1/all/fork/branches/0/a waits until 2")
    assert timers[1].startswith("/do/1/all/fork/branches/2/c/do/0/d waits until 2")
    assert "it waits for the branches of a fork, a time to come" == found.summary


async def test_one_branch_that_is_left_is_named_alone(waits):
    branches = [{"a": QUICK}, {"b": SLOW}]
    found = await waits(workflow({"f": {"fork": {"branches": branches}}}), 2)

    assert "waits for branch b of fork /do/0/f, 1 of 2 ended" in [wait.text for wait in found.waits]


async def test_a_race_names_everybody_who_may_win_it(waits):
    race = {"compete": True, "branches": [{"a": SLOW}, {"b": SLOW}]}
    found = await waits(workflow({"r": {"fork": race}}), 3)

    text = "waits for the first of 2 branches of fork /do/0/r: a, b"
    assert text in [wait.text for wait in found.waits]


async def test_a_pause_before_another_attempt_says_what_failed(waits):
    found = await waits(workflow({"t": {"try": [{"x": BOOM}], "catch": RETRY}}), 1)

    (wait,) = found.waits
    assert wait.text.startswith("/do/0/t is tried again at 2")
    assert wait.text.endswith(", retry 1, after /do/0/t/try/0/x failed: Busy [FAULT]")


async def test_a_listen_names_the_types_of_events_it_can_want(waits):
    found = await waits(workflow({"h": LISTEN}), 1)

    (wait,) = found.waits
    assert "event" == wait.kind
    expected = (
        "/do/0/h listens for events of type late or paid, and none that it wants has come yet"
    )
    assert expected == wait.text


async def test_a_time_limit_is_said_once_and_for_what_it_is(waits):
    limited = {"do": [{"s": SLOW}], "timeout": {"after": "PT2H"}}
    found = await waits(workflow({"d": limited}, timeout={"after": "PT9H"}), 3)

    limits = sorted(wait.text for wait in found.waits if wait.kind == "limit")
    assert limits[0].startswith("/do/0/d is given up at 2")
    assert limits[1].startswith("the workflow is given up at 2")
    assert all(limit.endswith(" if it has not ended by then") for limit in limits)
