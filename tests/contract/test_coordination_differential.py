"""The same questions in the same order get the same answers, whatever the cells are kept in."""

from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernel.builders import (
    abort,
    arrive,
    completion,
    fill,
    item,
    leave,
    scatter,
    token,
    try_open,
)
from onward.kernel.effects import (
    Adjust,
    Await,
    Begin,
    Close,
    Deliver,
    DiscardMerge,
    DiscardSplit,
    ExpireMerge,
    Forget,
    Overdue,
    Pause,
    Record,
    Resolve,
    Restore,
    Skip,
    Supersede,
    Values,
)
from onward.kernel.lineage import scope_of
from support.coordinators import InMemory, InSqlite

LINEAGES = ((), item("s", 0), item("s", 1), item("s", 2), item("z", 0, 1, item("s", 1)))
lineages = st.sampled_from(LINEAGES)
scopes = lineages.map(scope_of)
names = st.sampled_from(["t", "u", "v", "w"])
splits = st.sampled_from(["s", "z"])
edges = st.sampled_from(["e1", "e2", "e3"])
ways = st.sampled_from(["e1", "e2"])
quotas = st.sampled_from([None, 1, 2])
data = st.sampled_from([b"", b"one", b"two"])
addresses = st.sampled_from(["a", "b/1"])
signals = st.sampled_from(["s1", "s2", "s3"])
EXPECTED = ("e1", "e2")


def waiting(lineage, address, unit):
    return Await(scope=scope_of(lineage), lineage=lineage, address=address, by=unit)


def claims():
    made = st.builds(
        token,
        names,
        parent=names | st.just("origin"),
        outcome=st.sampled_from(["ok", "failed"]),
        siblings=st.integers(1, 3),
        publish_id=st.sampled_from(["1", "2"]),
        lineage_stack=lineages,
    )
    return made.map(lambda one: ("claim", one))


def questions():
    scattering = st.builds(
        scatter,
        total=st.integers(1, 3),
        window=st.integers(1, 3),
        budget=st.sampled_from([None, 0, 1]),
    )
    inner = st.builds(scatter, st.just("z"), total=st.just(1), outside=st.just(item("s", 1)))
    endings = st.sampled_from([None, completion(), completion("halted")])
    asked = st.one_of(
        scattering,
        inner,
        st.builds(leave, names | st.none(), lineages, by=names, value=data),
        st.builds(abort, names, st.sampled_from(LINEAGES[1:]), by=names, error=data),
        st.builds(
            fill, st.integers(0, 2), by=names, split=splits, value=data, failed=st.booleans()
        ),
        st.builds(Values, split=splits),
        st.builds(Overdue, split=splits, by=names),
        st.builds(DiscardSplit, split=splits),
        st.builds(arrive, ways, expected=st.just(EXPECTED), quota=quotas, scope=scopes, by=names),
        st.builds(try_open, names, expected=st.just(EXPECTED), quota=quotas, scope=scopes),
        st.builds(Skip, scope=scopes, edges=st.frozensets(edges)),
        st.builds(
            ExpireMerge, scope=scopes, node=st.just("m"), by=names, expected=st.just(EXPECTED)
        ),
        st.builds(DiscardMerge, scope=scopes, node=st.just("m"), expected=st.just(EXPECTED)),
        st.builds(
            Record,
            scope=scopes,
            token_id=names,
            tag=st.sampled_from(["ok", "failed"]),
            siblings=st.integers(0, 3),
            outcome=data,
        ),
        st.builds(Close, by=names, unit=names, message=endings),
        st.just(Forget()),
        st.just(Begin()),
        st.builds(Restore, scope=scopes, token_id=names, outcome=data),
        st.just(Supersede()),
        st.builds(Pause, on=st.booleans()),
        st.builds(
            Adjust,
            split=splits,
            window=st.integers(1, 3),
            budget=st.sampled_from([None, 0, 1]),
        ),
        st.builds(waiting, lineages, addresses, names),
        st.builds(Deliver, address=addresses, by=signals, content=data),
        st.builds(Resolve, scope=scopes, address=addresses, unit=names, by=names),
    )
    return asked.map(lambda one: ("answer", one))


def said(run, how, what):
    """Return the answer; a question that makes no sense has an error for an answer."""
    try:
        return getattr(run, how)(what)
    except (KeyError, TypeError) as problem:
        return type(problem).__name__


numbers = count()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(claims() | questions(), min_size=5, max_size=30))
def test_memory_and_sqlite_give_the_same_answers_and_keep_the_same_state(quick_journal, steps):
    memory, stored = InMemory(), InSqlite(quick_journal, f"x{next(numbers)}")

    for how, what in steps:
        assert said(memory, how, what) == said(stored, how, what)

    assert memory.dump() == stored.dump()


@settings(max_examples=100)
@given(steps=st.lists(claims() | questions(), min_size=1, max_size=20), last=claims() | questions())
def test_asking_the_same_again_changes_nothing(steps, last):
    run = InMemory()
    for how, what in steps:
        said(run, how, what)
    said(run, *last)
    before = dict(run.dump())

    said(run, *last)

    assert before == run.dump()
