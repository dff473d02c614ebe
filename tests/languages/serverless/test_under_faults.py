"""Trees in a world where workers die, and messages come twice and out of order.

The simulator's own world runs the real programs; whatever happens there, a run ends once and as it
would have ended in peace.
"""

import re

import msgspec
import pytest

from languages.serverless.lab import workflow
from onward.kernel.outcome import Awaits, Failed, NodeError, Succeeded
from onward.languages.serverless.program import ServerlessProgram
from onward.languages.serverless.read.document import parse_definition
from onward.languages.serverless.run import branches
from onward.nodes.serverless.catalogue import calls
from onward.simulation.checkers import BrokenError, check_invariants
from onward.simulation.lost_state import RuinedWorld
from onward.simulation.signals import Send
from onward.simulation.world import BRUTAL, CALM, HARSH, World

SEEDS = 60
GET = {"call": "http", "with": {"method": "get", "endpoint": "http://pets/1"}}
BOOM = {"raise": {"error": {"type": "https://example.com/e", "status": 500}}}
SLOW = {"wait": "PT1H"}
ADD = {"set": {"n": "${ .n + 1 }"}}


def steady(token, activity, dice):
    """Always answer the same."""
    return Succeeded({"n": 10})


def fickle(token, activity, dice):
    """Fail half of the time: another execution of the same message may come to something else."""
    if dice.random() < 0.5:
        return Failed(NodeError("busy", "HTTP_STATUS", {"status": 503}))
    return Succeeded({"n": 10})


def sparing(token, activity, dice):
    """Have some messages now, and none then; answer everything else."""
    if type(activity.node).__name__ != "CallAsyncapi":
        return Succeeded({"n": 10})
    poll = activity.node.subscription
    count = dice.randrange(min(poll.most, 3) + 1)
    return Succeeded({"messages": [{"payload": 1, "headers": {}}] * count, "cursor": None})


def taking(consume, **more):
    given = {"document": {"endpoint": "data:,{}"}, "channel": "a"}
    return {"call": "asyncapi", "with": {**given, "subscription": {"consume": consume, **more}}}


def again(count=1000):
    return {"retry": {"delay": "PT1S", "limit": {"attempt": {"count": count}}}}


BAD = {"call": "http", "with": {"method": "get", "endpoint": "http://bad/1"}}


def picky(token, activity, dice):
    """Fail where something bad is asked for, and nowhere else."""
    if activity.node.endpoint == "http://bad/1":
        return Failed(NodeError("no", "HTTP_STATUS", {"status": 404}))
    return Succeeded({"n": 10})


CASES = {
    "a call that is refused its input, and another one that handles that": (
        workflow({"t": {"try": [{"g": {**GET, "input": {"schema": {"document": {
            "properties": {"n": {"minimum": 1}}}}}}}],
            "catch": {"do": [{"h": {"set": {"n": 1}}}, {"i": GET}, {"j": ADD}]}}}),
        steady, {"n": 11},
    ),
    "a call that fails in a branch, and another one that handles that": (
        workflow({"t": {"try": [{"f": {"fork": {"branches": [{"a": BAD}, {"b": SLOW}]}}}],
                        "catch": {"do": [{"i": GET}, {"j": ADD}]}}}),
        picky, {"n": 11},
    ),
    "a loop with an activity": (
        workflow({"l": {"for": {"in": "[1, 2, 3]"}, "do": [
            {"g": {**GET, "output": {"as": "{n: ($input.n + .n * $item)}"}}}, {"a": ADD}]}}),
        steady, {"n": 63},
    ),
    "retries until it works": (
        workflow({"l": {"for": {"in": "[1, 2, 3]"}, "do": [
            {"t": {"try": [{"g": GET}, {"a": ADD}], "catch": again()}}]}}),
        fickle, {"n": 11},
    ),
    "a fork of activities and waits": (
        workflow({"f": {"fork": {"branches": [
            {"a": {"do": [{"g": GET}, {"h": GET}, {"i": ADD}]}},
            {"b": {"do": [{"w": {"wait": "PT5S"}}, {"x": ADD}]}},
            {"c": {"set": {"n": 3}}}]}}}),
        steady, [{"n": 11}, {"n": 1}, {"n": 3}],
    ),
    "a fork of fickle activities": (
        workflow({"f": {"fork": {"branches": [
            {"a": {"try": [{"g": GET}, {"h": GET}], "catch": again()}},
            {"b": {"try": [{"i": GET}], "catch": again()}}]}}}),
        fickle, [{"n": 10}, {"n": 10}],
    ),
    "forks that are tried again because a branch failed": (
        workflow({"t": {"try": [{"f": {"fork": {"branches": [
            {"a": {"do": [{"g": GET}, {"h": ADD}]}}, {"b": GET}, {"c": {"wait": "PT2S"}}]}}}],
            "catch": again()}}),
        fickle, [{"n": 11}, {"n": 10}, {"n": 0}],
    ),
    "an error in a branch": (
        workflow({"t": {"try": [{"f": {"fork": {"branches": [
            {"a": SLOW}, {"b": {"do": [{"g": GET}, {"x": BOOM}]}}]}}}],
            "catch": {"do": [{"h": {"set": {"at": "${ $error.instance }"}}}]}}}),
        steady, {"at": "/do/0/t/try/0/f/fork/branches/1/b/do/1/x"},
    ),
    "a race": (
        workflow({"f": {"fork": {"compete": True, "branches": [
            {"a": SLOW}, {"b": {"do": [{"g": GET}, {"x": ADD}]}}, {"c": {"wait": "PT30M"}}]}}},
            {"after": ADD}),
        steady, {"n": 12},
    ),
    "the end from inside a fork in a fork": (
        workflow({"f": {"fork": {"branches": [{"a": SLOW}, {"b": {"fork": {"branches": [
            {"c": SLOW}, {"d": {"do": [{"g": GET}, {"e": {**ADD, "then": "end"}}]}}]}}}]}}},
            {"never": {"set": {"n": 99}}}),
        steady, {"n": 11},
    ),
    "a limit that is kept and one that is not": (
        workflow({"q": {"timeout": {"after": "PT10M"}, "do": [
                {"g": GET}, {"w": {"wait": "PT1M"}}]}},
            {"t": {"try": [{"s": {"timeout": {"after": "PT10M"}, "do": [{"a": ADD}, {"x": SLOW}]}}],
                   "catch": {"do": [{"h": {"set": {"n": "${ .n + $error.status }"}}}]}}}),
        steady, {"n": 418},
    ),
    "attempts with a limit": (
        workflow({"t": {"try": [{"g": GET}, {"s": SLOW}], "catch": {
            "retry": {"delay": "PT1S", "limit": {"attempt": {"count": 2, "duration": "PT10S"}}},
            "do": [{"h": {"set": {"n": "${ $error.status }"}}}]}}}),
        steady, {"n": 408},
    ),
    "a fork in a loop with a limit around each": (
        workflow({"l": {"for": {"in": "[range(4)]"}, "do": [
            {"f": {"timeout": {"after": "PT1M"}, "fork": {"branches": [{"a": ADD}, {"b": GET}]}}},
            {"u": {"set": {"n": "${ .[0].n + .[1].n }"}}}]}}),
        steady, {"n": 44},
    ),
    "messages that are taken one by one": (
        workflow({"s": taking({"until": "length == 3"}, foreach={"do": [
            {"w": {"wait": "PT2S"}}, {"g": GET}, {"x": {"set": "${ .n + $item.payload }"}}]})},
            {"a": {"set": {"n": "${ . }"}}}),
        sparing, {"n": [11, 11, 11]},
    ),
    "messages that are taken together": (
        workflow({"l": {"for": {"in": "[1, 2]"}, "do": [
            {"s": {**taking({"amount": 5}), "output": {"as": "{n: (map(.payload) | add)}"}}},
            {"a": ADD}]}}),
        sparing, {"n": 6},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_run_ends_once_and_as_it_would_in_peace(name):
    document, behave, expected = CASES[name]
    parsed = parse_definition(document)
    for seed in range(SEEDS):
        for faults in (CALM, HARSH, BRUTAL):
            world = World(ServerlessProgram(parsed, calls), behave, seed, faults)
            witness = world.run({"n": 0})
            check_invariants(world)
            (ending,) = {msgspec.json.encode(completion) for completion in witness.completions}
            ended = msgspec.json.decode(ending)
            assert ("completed", expected) == (
                ended["status"],
                ended["final_context"].get("$output"),
            ), f"seed {seed}: {ended}"


# Where a message is lost for good, a clock may be faster than the repair.
TIMELESS = [name for name in CASES if not re.search("race|limit", name)]


@pytest.mark.parametrize("name", TIMELESS)
def test_a_run_whose_state_was_lost_is_repaired_and_ends_the_same(name):
    document, behave, expected = CASES[name]
    parsed = parse_definition(document)
    repaired = 0
    for seed in range(SEEDS):
        world = RuinedWorld(ServerlessProgram(parsed, calls), behave, seed)
        witness = world.run({"n": 0})
        check_invariants(world)
        repaired += world.repairs
        ended = msgspec.json.decode(msgspec.json.encode(witness.completions[0]))
        assert expected == ended["final_context"].get("$output"), f"seed {seed}: {ended}"
    assert repaired > 0


@pytest.mark.parametrize("ruined", [False, True])
def test_a_call_after_another_workflow_is_not_taken_for_it(ruined):
    child = {"namespace": "test", "name": "other", "version": "1.0.0"}
    parsed = parse_definition(workflow({"r": {"run": {"workflow": child}}}, {"g": GET}, {"a": ADD}))

    def behave(token, activity, dice):
        if type(activity.node).__name__ == "RunWorkflow":
            return Awaits(name="run:other")
        return Succeeded({"n": 10})

    for seed in range(SEEDS):
        events = [Send(1, "run:other", "ended", {"n": 5})]
        program = ServerlessProgram(parsed, calls)
        if ruined:
            world = RuinedWorld(program, behave, seed, sends=events)
        else:
            world = World(program, behave, seed, BRUTAL, sends=events)
        witness = world.run({"n": 0})
        check_invariants(world)
        ended = msgspec.json.decode(msgspec.json.encode(witness.completions[0]))
        assert {"n": 11} == ended["final_context"].get("$output"), f"seed {seed}: {ended}"


def test_a_workflow_that_takes_too_long_ends_once_too():
    parsed = parse_definition(workflow({"g": GET}, {"s": SLOW}, timeout={"after": "PT1M"}))
    for seed in range(SEEDS):
        world = World(ServerlessProgram(parsed, calls), steady, seed, BRUTAL)
        witness = world.run({"n": 0})
        check_invariants(world)
        (ending,) = {msgspec.json.encode(completion) for completion in witness.completions}
        assert 408 == msgspec.json.decode(ending)["error"]["details"]["status"]


def test_leaving_a_scope_without_a_message_of_its_own_would_be_noticed(monkeypatch):
    def at_once(self, place, stopped, action):
        state = stopped.walk.state
        state.frames, state.action = [], action
        yield from branches.escape(place, state)

    monkeypatch.setattr(ServerlessProgram, "_escape", at_once)
    document, behave, _ = CASES["forks that are tried again because a branch failed"]
    parsed = parse_definition(document)
    with pytest.raises(BrokenError):
        for seed in range(SEEDS):
            world = World(ServerlessProgram(parsed, calls), behave, seed, BRUTAL)
            world.run({"n": 0})
            check_invariants(world)


HEARD = "event://do/0/h"


def sends(*values, address=HEARD):
    """Send each value twice, at different times: the second is the same event once more."""
    return [
        Send(at_s, address, f"id-{value}", {"type": "t", "data": value})
        for value in values
        for at_s in (value % 3, value % 3 + 7)
    ]


LISTENS = {
    "one event": (
        workflow({"h": {"listen": {"to": {"one": {"with": {"type": "t"}}}}}}),
        sends(5), [5],
    ),
    "one that is wanted among others": (
        workflow({"h": {"listen": {"to": {"one": {"with": {"data": "${ . > 8 }"}}}}}}),
        sends(1, 2, 9, 4), [9],
    ),
    "as many as are wanted, each once": (
        workflow({"h": {"listen": {"to": {"any": [], "until": "length == 4"}},
                        "output": {"as": "sort"}}}),
        sends(1, 2, 3, 4), [1, 2, 3, 4],
    ),
    "events that are handled one by one": (
        workflow({"h": {"listen": {"to": {"any": [], "until": "length == 3"}},
                        "foreach": {"do": [{"w": {"wait": "PT2S"}}, {"g": GET},
                                           {"s": {"set": {"n": "${ .n + $item }"}}}]},
                        "output": {"as": "map(.n) | sort"}}}),
        sends(1, 2, 3), [11, 12, 13],
    ),
    "a listen in a branch, and an event that is early": (
        workflow({"w": {"wait": "PT3S"}},
                 {"f": {"fork": {"branches": [
                     {"x": {"listen": {"to": {"one": {"with": {"type": "t"}}}}}}, {"g": GET}]}}}),
        sends(1, address="event://do/1/f/fork/branches/0/x"), [[1], {"n": 10}],
    ),
    "a time limit that is over first": (
        workflow({"t": {"try": [{"h": {"timeout": {"after": "PT1M"},
                                       "listen": {"to": {"one": {"with": {"type": "never"}}}}}}],
                        "catch": {"do": [{"c": {"set": {"n": "${ $error.status }"}}}]}}}),
        sends(1, address="event://do/0/t/try/0/h"), {"n": 408},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTENS)
def test_every_event_is_heard_once_whatever_happens(name):
    document, events, expected = LISTENS[name]
    parsed = parse_definition(document)
    for seed in range(SEEDS):
        for faults in (CALM, HARSH, BRUTAL):
            program = ServerlessProgram(parsed, calls)
            world = World(program, steady, seed, faults, sends=events)
            witness = world.run({"n": 0})
            check_invariants(world)
            (ending,) = {msgspec.json.encode(completion) for completion in witness.completions}
            ended = msgspec.json.decode(ending)
            assert ("completed", expected) == (
                ended["status"],
                ended["final_context"].get("$output"),
            ), f"seed {seed}: {ended}"


@pytest.mark.parametrize("name", [name for name in LISTENS if "limit" not in name])
def test_a_run_that_listened_and_lost_its_state_hears_everything_again(name):
    document, events, expected = LISTENS[name]
    parsed = parse_definition(document)
    repaired = 0
    for seed in range(SEEDS):
        world = RuinedWorld(ServerlessProgram(parsed, calls), steady, seed, sends=events)
        witness = world.run({"n": 0})
        check_invariants(world)
        repaired += world.repairs
        ended = msgspec.json.decode(msgspec.json.encode(witness.completions[0]))
        assert expected == ended["final_context"].get("$output"), f"seed {seed}: {ended}"
    assert repaired > 0
