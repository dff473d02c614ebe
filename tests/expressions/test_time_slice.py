"""What is short is evaluated at once; what is long comes out as a question, with one answer."""

import pytest

from onward.errors import ExpressionError
from onward.expressions import Account, Jq, Limits, compile_jq
from onward.expressions.offload import answer_question, read_answer
from onward.expressions.time_slice import TimeSlice, TimeSliceExceeded, within_time_slice

ROWS = [{"id": n, "name": f"n{n % 7}", "tags": ["a", "b"]} for n in range(300)]
SMALL = Limits(steps=60_000, bytes=1024 * 1024)

LONG = [
    "until(false; .)",
    "[range(1e9)]",
    "last(range(25000)) | reduce range(100) as $i (0; [., .])",
    "last(range(50000))",
    "[range(9000)] | map(. * 2) | add",
    "last(range(30000)) | error",
    "[$rows, $rows, .] | [.[] | tojson | fromjson] | [.[][] | .name] | length",
    "[range(25000)] | .[]",
]


def outcome(evaluate):
    try:
        return evaluate()
    except ExpressionError as error:
        return str(error), error.code


def through(source, every=False, account=None):
    """Evaluate in time slices; also return how many questions another process answered."""
    jq, time_slice, asked = compile_jq(source), TimeSlice(), 0
    evaluate = jq.evaluate_all if every else jq.evaluate
    while True:
        try:
            with within_time_slice(time_slice):
                given = {"rows": ROWS}
                return evaluate(ROWS, given, limits=SMALL, account=account), asked
        except ExpressionError as error:
            return (str(error), error.code), asked
        except TimeSliceExceeded as exceeded:
            time_slice.learn(exceeded, read_answer(answer_question(exceeded.body)))
            asked += 1


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("source", LONG)
def test_a_long_expression_comes_to_the_same_elsewhere(source, every):
    jq = compile_jq(source)
    evaluate = jq.evaluate_all if every else jq.evaluate
    here = outcome(lambda: evaluate(ROWS, {"rows": ROWS}, limits=SMALL))

    assert (here, 1) == through(source, every)


@pytest.mark.parametrize("source", [".", ".[0].id", "$rows", "map(.id) | add", "[.[] | .name]"])
def test_a_short_expression_is_no_question(source):
    assert (compile_jq(source).evaluate(ROWS, {"rows": ROWS}), 0) == through(source)


@pytest.mark.parametrize("source", LONG[3:])
def test_the_account_is_charged_the_same_wherever_it_was_evaluated(source):
    here, there = Account(100_000), Account(100_000)
    jq = compile_jq(source)
    outcome(lambda: jq.evaluate_all(ROWS, {"rows": ROWS}, limits=SMALL, account=here))

    through(source, every=True, account=there)

    assert here.spent == there.spent > 0


def test_weights_that_are_known_change_no_cost():
    jq = compile_jq("{rows: ., more: [.[] | {id}], again: (. + .)} | [.rows, .again] | length")
    account = Account(1_000_000)
    costs = []
    for _ in range(3):
        before = account.spent
        jq.evaluate(ROWS, {}, account=account)
        costs.append(account.spent - before)

    assert costs == [costs[0]] * 3


def test_many_that_are_short_take_turns_and_none_is_done_twice(monkeypatch):
    jq, time_slice, turns = compile_jq("last(range(4000 + .))"), TimeSlice(), 0
    computed, compute = [], Jq._compute

    def noted(self, question, meter):
        computed.append(question.data)
        return compute(self, question, meter)

    monkeypatch.setattr(Jq, "_compute", noted)
    while True:
        turns += 1
        try:
            with within_time_slice(time_slice):
                found = [jq.evaluate(n, {}) for n in range(100)]
            break
        except TimeSliceExceeded as exceeded:
            assert not exceeded.body
            time_slice.restart()

    assert [3999 + n for n in range(100)] == found
    assert list(range(100)) == computed
    assert turns > 3


def test_nothing_in_an_expression_can_catch_the_question():
    with pytest.raises(TimeSliceExceeded), within_time_slice(TimeSlice()):
        compile_jq('try until(false; .) catch "caught"').evaluate(1, {})


def test_outside_of_a_time_slice_nothing_is_exceeded():
    with within_time_slice(TimeSlice()):
        pass

    assert 29_999 == compile_jq("last(range(30000))").evaluate(None, {})


def test_what_belongs_together_shares_a_budget():
    jq, account = compile_jq("last(range(60000))"), Account(100_000)
    jq.evaluate(None, {}, account=account)

    with pytest.raises(ExpressionError, match="what was evaluated before it"):
        jq.evaluate(None, {}, account=account)
