"""The oracle finds what is planted: a promise that it cannot see broken is not checked at all."""

from collections import Counter
from dataclasses import replace

import pytest
from benchmarks.chaos.oracle import Peace, Problem, Seen, comparable, judge, left_behind
from benchmarks.chaos.report import Report

VISITS = Counter({("start", "", "success"): 1, ("call", "each[0]", "success"): 1})
PEACE = Peace("completed", {"$end": 3}, VISITS, frozenset({"once"}))
GOOD = Seen(
    "run-1",
    status="completed",
    context={"$end": 3},
    visits=VISITS,
    effects={"once": Counter({"key": 2})},
)


def promises(seen: Seen, peace: Peace = PEACE) -> list[str]:
    return [problem.promise for problem in judge(seen, peace)]


def test_a_run_that_ends_like_an_undisturbed_one_is_fine():
    assert [] == judge(GOOD, PEACE)


def test_a_run_that_nothing_moves_is_lost():
    assert ["lost"] == promises(replace(GOOD, status=None))


def test_a_run_that_did_not_end_but_is_alive_is_stuck():
    assert ["stuck"] == promises(replace(GOOD, status=None, held=True))


def test_a_start_that_was_refused_need_not_have_happened():
    assert [] == promises(Seen("run-1", accepted=False))


def test_a_start_that_was_refused_and_happened_all_the_same_must_end_right():
    assert ["wrong"] == promises(replace(GOOD, accepted=False, context={"$end": 4}))


def test_a_start_that_was_refused_and_left_a_living_run_is_stuck():
    assert ["stuck"] == promises(Seen("run-1", accepted=False, held=True))


@pytest.mark.parametrize("change", [{"status": "halted"}, {"context": {"$end": 4}}])
def test_another_ending_or_result_is_wrong(change):
    assert ["wrong"] == promises(replace(GOOD, **change))


def test_a_visit_that_is_in_the_ledger_twice_is_doubled():
    twice = VISITS + Counter({("call", "each[0]", "success"): 1})

    assert ["doubled"] == promises(replace(GOOD, visits=twice))


def test_a_visit_that_is_not_in_the_ledger_is_wrong():
    less = VISITS - Counter({("start", "", "success"): 1})

    assert ["wrong"] == promises(replace(GOOD, visits=less))


def test_news_on_the_way_may_be_missing_but_not_doubled():
    waiting = Counter({("pause", "", "waiting"): 1})
    peace = replace(PEACE, visits=VISITS + waiting)

    assert [] == promises(GOOD, peace)
    assert ["doubled"] == promises(replace(GOOD, visits=VISITS + waiting + waiting), peace)


def test_a_visit_of_another_item_is_doubled_and_wrong():
    more = VISITS + Counter({("call", "each[1]", "success"): 1})

    assert ["doubled", "wrong"] == promises(replace(GOOD, visits=more))


def test_an_effect_under_two_keys_is_doubled():
    effects = {"once": Counter({"key": 1, "another": 1})}

    assert ["doubled"] == promises(replace(GOOD, effects=effects))


def test_an_effect_that_never_happened_is_wrong():
    assert ["wrong"] == promises(replace(GOOD, effects={}))


def test_in_a_race_any_branch_may_win_but_none_twice():
    race = replace(PEACE, racing=True)
    other = Counter({("start", "", "success"): 1, ("late", "", "success"): 1})

    assert [] == promises(replace(GOOD, visits=other), race)
    assert ["doubled"] == promises(replace(GOOD, visits=other + other), race)[:1]


def test_after_a_wipe_a_run_may_fail_with_a_cause_but_not_without():
    failed = replace(GOOD, status="failed", context=None, wiped=True)

    assert [] == promises(replace(failed, cause="its state was lost"))
    assert ["wrong"] == promises(failed)
    assert ["wrong"] == promises(replace(failed, cause="its state was lost", wiped=False))


def test_after_a_wipe_a_run_may_be_in_quarantine_but_not_vanish():
    gone = replace(GOOD, status=None, wiped=True)

    assert [] == promises(replace(gone, cause="in quarantine"))
    assert ["lost"] == promises(gone)


def test_after_a_wipe_nothing_may_be_doubled_either():
    twice = replace(GOOD, wiped=True, visits=VISITS + VISITS)

    assert {"doubled"} == set(promises(twice))


def test_only_tombstones_may_be_left():
    keys = ["exec:{run-1}:done", "exec:{run-1}:run:live", "scheduler:timers", "onward:format"]

    found = left_behind(keys, {"workflow.execution": 2}, quarantine_allowed=False)

    assert [
        "key exec:{run-1}:run:live",
        "key scheduler:timers",
        "2 messages in workflow.execution",
    ] == [problem.what for problem in found]


def test_quarantine_must_be_empty_unless_redis_was_wiped():
    held = {"workflow.quarantine": 1}

    assert 1 == len(left_behind([], held, quarantine_allowed=False))
    assert [] == left_behind([], held, quarantine_allowed=True)


def test_times_and_headers_are_not_compared_and_values_are():
    def context(status, took_ms):
        answer = {"status": status, "headers": {"date": took_ms}, "body": 1, "duration_ms": took_ms}
        return {"$call": answer, "$end": [1]}

    one = comparable(context(200, 1), racing=False)

    assert one == comparable(context(200, 2), racing=False)
    assert one != comparable(context(500, 1), racing=False)
    assert {"$end": [1]} == comparable(context(200, 1), racing=True)


def test_the_report_counts_what_is_broken():
    report = Report(1, problems=[Problem("lost", "x", "run-1"), Problem("lost", "x", "run-2")])

    told = report.as_json()

    assert 2 == told["broken"]["lost"]
    assert 0 == told["broken"]["doubled"]
    assert ["lost: run-1 x", "lost: run-2 x"] == told["problems"]
