"""RFC 001 section 9: a failing node halts, is ignored, or leads to another branch."""

import asyncio

import pytest

from onward.kernel.outcome import Failed, NodeError, Succeeded
from support.documents import TRIGGER, chosen, node, transform, workflow

IGNORE = {"type": "ignore"}


def branch(edge):
    return {"type": "branch", "error_edge": edge}


def both_ways(first):
    """Return a workflow: from `first` a success edge to `fine`, an error edge to `saved`."""
    return workflow(
        TRIGGER,
        first,
        node("fine", "probe", tag="fine"),
        node("saved", "probe", tag="saved"),
        "start -> first",
        "ok: first -> fine",
        "oops: first ~> saved",
    )


async def test_halt_stops_the_run_as_halted_with_the_error_in_the_completion(lab):
    document = workflow(
        TRIGGER,
        node("bad", "fail", message="out of paper", code="PAPER"),
        node("after", "probe"),
        "start -> bad -> after",
    )

    ended = await lab.run(document)

    assert "halted" == ended.status
    assert ("out of paper", "PAPER") == (ended.message.error.message, ended.message.error.code)
    assert {"error": {"message": "out of paper", "code": "PAPER", "details": {}}} == ended.output(
        "bad"
    )
    assert [] == lab.book.tags()


async def test_ignore_goes_on_with_the_error_object_in_the_context(lab):
    failing = node("p", "probe", fail_first=9, code="E1", details={"why": [1]}, error=IGNORE)
    document = workflow(TRIGGER, failing, transform("after", "$p"), "start -> p -> after")

    ended = await lab.run(document)

    assert "completed" == ended.status
    assert {
        "error": {"message": "attempt 1 fails", "code": "E1", "details": {"why": [1]}}
    } == ended.output("after")


async def test_branch_follows_the_error_edge_and_no_success_edge(lab):
    ended = await lab.run(both_ways(node("first", "fail", code="E2", error=branch("oops"))))

    assert "completed" == ended.status
    assert ["saved"] == lab.book.tags()
    assert "E2" == ended.output("first")["error"]["code"]


async def test_an_error_edge_is_not_followed_on_success(lab):
    ended = await lab.run(both_ways(node("first", "noop", error=branch("oops"))))

    assert "completed" == ended.status
    assert ["fine"] == lab.book.tags()


async def test_an_ignored_failure_does_not_follow_the_error_edge(lab):
    await lab.run(both_ways(node("first", "fail", error=IGNORE)))

    assert ["fine"] == lab.book.tags()


@pytest.mark.parametrize("strategy", [IGNORE, {"type": "halt"}, branch("oops")])
async def test_the_error_object_always_has_message_and_code(lab, strategy):
    ended = await lab.run(both_ways(node("first", "fail", message="m", code="C", error=strategy)))

    error = ended.output("first")["error"]
    assert ("m", "C") == (error["message"], error["code"])


async def test_the_error_object_has_details_also_when_the_node_gave_none(lab):
    ended = await lab.run(both_ways(node("first", "fail", message="m", code="C", error=IGNORE)))

    assert {"error": {"message": "m", "code": "C", "details": {}}} == ended.output("first")


async def test_an_ignored_conditional_takes_its_other_side(lab):
    check = {**chosen("check", "error(1)", "yes", "no"), "error": IGNORE}
    document = workflow(
        TRIGGER,
        check,
        node("a", "probe", tag="yes"),
        node("b", "probe", tag="no"),
        "start -> check",
        "yes: check -> a",
        "no: check -> b",
    )

    await lab.run(document)

    assert ["no"] == lab.book.tags()


# -- what a node can do wrong --------------------------------------------------------------------


async def test_a_node_that_takes_too_long_fails_with_its_timeout(lab):
    document = workflow(TRIGGER, node("p", "probe", gate="never", timeout=0.02), "start -> p")

    ended = await lab.run(document)

    assert ("halted", "NODE_TIMEOUT") == (ended.status, ended.message.error.code)
    assert "0.02 s" in ended.message.error.message
    assert 1 == lab.book.cancelled


async def raises(tools):
    raise ZeroDivisionError("no such number")


async def raises_nothing_to_say(tools):
    raise LookupError


async def raises_surrogate(tools):
    raise ValueError("bad name \ud800")


async def gives_up_waiting(tools):
    raise TimeoutError("the database did not answer")


async def cancels_itself(tools):
    raise asyncio.CancelledError


async def returns_garbage(tools):
    return {"status": "ok"}


async def returns_nothing(tools):
    return None


async def returns_object(tools):
    return Succeeded(object())


async def returns_odd_keys(tools):
    return Succeeded({(1, 2): 3})


async def returns_surrogate(tools):
    return Succeeded("\ud800")


async def returns_cycle(tools):
    cycle = []
    cycle.append(cycle)
    return Succeeded(cycle)


async def fails_with_object(tools):
    return Failed(NodeError("m", "C", {"why": object()}))


async def fails_with_text(tools):
    return Failed("no")


async def fails_with_surrogate(tools):
    return Failed(NodeError("bad \udcff", "C"))


@pytest.mark.parametrize(
    ("act", "code", "says"),
    [
        (raises, "NODE_CRASHED", "ZeroDivisionError: no such number"),
        (raises_nothing_to_say, "NODE_CRASHED", "LookupError"),
        (
            raises_surrogate,
            "NODE_CRASHED",
            "ValueError: bad name",
        ),
        (
            gives_up_waiting,
            "NODE_CRASHED",
            "the database did not answer",
        ),
        (
            cancels_itself,
            "NODE_CRASHED",
            "CancelledError",
        ),
        (returns_garbage, "NODE_CRASHED", "dict"),
        (returns_nothing, "NODE_CRASHED", "NoneType"),
        (returns_object, "OUTPUT_INVALID", "object"),
        (returns_odd_keys, "OUTPUT_INVALID", "not JSON"),
        (returns_surrogate, "OUTPUT_INVALID", "surrogate"),
        (returns_cycle, "OUTPUT_INVALID", "nested"),
        (fails_with_object, "C", ""),
        (
            fails_with_text,
            "NODE_CRASHED",
            "",
        ),
        (
            fails_with_surrogate,
            "C",
            "bad",
        ),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
async def test_whatever_a_node_does_is_a_failed_node(lab, act, code, says):
    lab.book.acts["act"] = act
    document = workflow(
        TRIGGER,
        node("p", "probe", does="act", timeout=30, error=IGNORE),
        transform("after", "$p.error.code"),
        "start -> p -> after",
    )

    ended = await lab.run(document)

    assert ("completed", code) == (ended.status, ended.output("after"))
    assert says in ended.output("p")["error"]["message"]


async def test_a_node_that_was_cancelled_by_the_end_of_its_engine_runs_again_after_a_restart(lab):
    document = workflow(TRIGGER, node("p", "probe", gate="g", value=1), "start -> p")
    async with lab.engine() as engine:
        run = await lab.start(engine, document)
        await lab.book.until_parked(1)
    lab.book.gate("g").set()

    ended = await lab.resume(run)

    assert ("completed", 1) == (ended.status, ended.output("p"))
    assert 2 == len(lab.book.executions)
    assert 1 == len({execution.key for execution in lab.book.executions})


async def test_a_credential_that_cannot_be_found_fails_the_node(lab):
    document = workflow(TRIGGER, node("p", "probe", credentials="vault"), "start -> p")

    ended = await lab.run(document)

    assert ("halted", "CREDENTIAL") == (ended.status, ended.message.error.code)
    assert [] == lab.book.tags()


async def test_a_secret_that_a_node_sends_back_is_nowhere_in_the_file(lab, tmp_path):
    lab.secrets.known["key"] = {"token": "hunter2-hunter2"}

    async def leaks(tools):
        return Succeeded({"echo": f"Bearer {tools.credentials['token']}"})

    lab.book.acts["leaks"] = leaks
    document = workflow(TRIGGER, node("p", "probe", does="leaks", credentials="key"), "start -> p")

    ended = await lab.run(document)

    assert {"echo": "Bearer [redacted]"} == ended.output("p")
    assert [] == [
        file.name for file in tmp_path.iterdir() if b"hunter2-hunter2" in file.read_bytes()
    ]
