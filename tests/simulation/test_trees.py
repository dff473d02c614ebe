"""Random documents of the Serverless Workflow DSL under faults, against a sequential reference."""

import pytest

from languages.serverless.lab import workflow
from onward.languages.serverless.read.document import parse_definition
from onward.simulation.serverless.plan import PublishedEvent, TreePlan
from onward.simulation.serverless.reference import EndlessError, TreeReference
from onward.simulation.serverless.trial import RUN_INPUT, try_tree

SEEDS = 240
BLOCK = 40


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_every_tree_ends_once_with_the_result_of_the_reference(first):
    """
    Whatever is duplicated, delayed, reordered or killed, a run ends once, as a plain recursion over
    its document says, with every call made as often as it says, and nothing left behind.
    """
    trials = [try_tree(seed) for seed in range(first, first + BLOCK)]

    assert sum(trial.crashes for trial in trials) > BLOCK
    assert sum(trial.compared for trial in trials) > 2 * BLOCK  # of four worlds each


MARK = {"set": "${ {n: (.n + 1), t: (.t + [$task.name])} }"}
FAIL = {"raise": {"error": {"type": "https://example.com/mine", "status": 418}}}
JOIN = "{n: (map(.n) | add), t: (map(.t) | add)}"


def wait(ms):
    return {"wait": {"milliseconds": ms}}


def call(name):
    given = {"method": "post", "endpoint": f"http://simulated/{name}", "body": "${ . }"}
    return {"call": "http", "with": given}


ENDINGS = {
    "a race is won by whoever is first": (
        workflow({"r": {"fork": {"compete": True, "branches": [
            {"x": {"do": [{"w": wait(30)}, {"late": MARK}]}},
            {"y": {"do": [{"v": wait(20)}, {"soon": MARK}]}}]}}}),
        ["soon"], None,
    ),
    "a fork waits for all, in the order of the document": (
        workflow({"f": {"fork": {"branches": [
            {"x": {"do": [{"w": wait(30)}, {"late": MARK}]}},
            {"y": {"do": [{"v": wait(20)}, {"soon": MARK}]}}]}, "output": {"as": JOIN}}}),
        ["late", "soon"], None,
    ),
    "an error in a branch ends the others": (
        workflow({"f": {"fork": {"branches": [
            {"x": {"do": [{"w": wait(30)}, {"late": call("late")}]}},
            {"y": {"do": [{"v": wait(20)}, {"bad": FAIL}]}}]}}}),
        None, ("https://example.com/mine", 418, "/do/0/f/fork/branches/1/y/do/1/bad"),
    ),
    "a time limit ends what it is about": (
        workflow({"d": {"do": [{"w": wait(30)}, {"late": MARK}], "timeout": {"after": "PT0.02S"}}}),
        None, ("https://serverlessworkflow.io/spec/1.0.0/errors/timeout", 408, "/do/0/d"),
    ),
    "a call that fails twice is tried three times": (
        workflow({"t": {"try": [{"c": call("c")}], "catch": {
            "retry": {"delay": "PT1S", "limit": {"attempt": {"count": 2}}}}}}),
        ["c#3"], None,
    ),
    "with fewer attempts its error stands": (
        workflow({"t": {"try": [{"c": call("c")}], "catch": {
            "retry": {"delay": "PT1S", "limit": {"attempt": {"count": 1}}}}}}),
        None, ("https://serverlessworkflow.io/spec/1.0.0/errors/communication", 503,
               "/do/0/t/try/0/c"),
    ),
    "an event is heard that came before": (
        workflow({"w": wait(9000)}, {"h": {"listen": {"to": {"one": {"with": {"type": "e"}}}},
                                           "output": {"as": "{n: 0, t: .}"}}}),
        ["early"], None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDINGS)
def test_the_reference_says_what_a_person_would(name):
    document, trace, error = ENDINGS[name]
    plan = TreePlan(document, {"c": {1: 503, 2: 503}}, {}, (PublishedEvent(5, "e", "early"),))
    reference = TreeReference(plan, parse_definition(document))

    expected = reference.run(RUN_INPUT)

    assert error == expected.error
    assert trace == (expected.output["t"] if expected.output else None)
    assert not reference.tied


def test_the_reference_says_that_two_things_at_once_decide_nothing():
    same = {"fork": {"compete": True, "branches": [{"x": wait(5)}, {"y": wait(5)}]}}
    reference = TreeReference(TreePlan({}), parse_definition(workflow({"r": same})))
    reference.run(RUN_INPUT)

    assert reference.tied


def test_the_reference_says_what_waits_for_ever():
    document = workflow({"h": {"listen": {"to": {"one": {"with": {"type": "e"}}}}}})

    with pytest.raises(EndlessError):
        TreeReference(TreePlan({}), parse_definition(document)).run(RUN_INPUT)
