"""Signals and waits: whichever comes first, they meet, once."""

from kernel.builders import abort, completion, item, scatter, token
from onward.kernel.effects import Await, Close, Deliver, Resolve, Taken
from onward.kernel.lineage import scope_of
from support.coordinators import InMemory


def wait(run, unit="t", address="go", lineage=()):
    return run.answer(Await(scope=scope_of(lineage), lineage=lineage, address=address, by=unit))


def send(run, signal="s1", address="go", content=b"1"):
    return run.answer(Deliver(address=address, by=signal, content=content))


def came_to(run, unit="t", address="go", scope=""):
    return run.answer(Resolve(scope=scope, address=address, unit=unit, by="woken"))


def test_a_signal_before_the_wait_is_kept_for_it():
    run = InMemory()

    assert send(run) is None
    assert Taken("s1", b"1") == wait(run)
    assert Taken("s1", b"1") == came_to(run)


def test_a_signal_after_the_wait_goes_to_who_waits():
    run = InMemory()

    assert wait(run) is None
    assert "t" == send(run)
    assert Taken("s1", b"1") == came_to(run)


def test_the_same_signal_twice_is_one_signal():
    run = InMemory()
    wait(run)

    assert ["t", "t"] == [send(run), send(run)]
    assert wait(run, "u") is None


def test_signals_are_taken_in_the_order_they_came_each_by_one_wait():
    run = InMemory()
    send(run, "s1", content=b"1")
    send(run, "s2", content=b"2")

    assert [b"1", b"2"] == [wait(run, "t").content, wait(run, "u").content]
    assert wait(run, "v") is None
    assert "v" == send(run, "s3")


def test_who_has_given_up_takes_nothing():
    run = InMemory()
    wait(run)

    assert Taken("", b"") == came_to(run)
    assert send(run) is None
    assert Taken("", b"") == wait(run)
    assert Taken("s1", b"1") == wait(run, "u")


def test_a_signal_that_came_in_time_is_not_lost_to_a_time_out():
    run = InMemory()
    wait(run)
    send(run)

    assert Taken("s1", b"1") == came_to(run)


def test_an_item_that_failed_does_not_swallow_what_is_meant_for_another():
    run = InMemory()
    run.answer(scatter("s", total=2))
    for index in (0, 1):
        run.claim(token(f"i{index}", lineage_stack=item("s", index)))
        wait(run, f"i{index}", lineage=item("s", index))
    run.answer(abort("x", item("s", 0)))

    assert "i1" == send(run)


def test_addresses_do_not_mix():
    run = InMemory()
    wait(run, "t", "go/users[1]")

    assert send(run, address="go/users[0]") is None
    assert "t" == send(run, "s2", address="go/users[1]")


def test_after_the_end_nobody_waits_and_nothing_is_kept():
    run = InMemory()
    run.answer(Close(by="t", unit="t", message=completion()))

    assert [None, None, None] == [wait(run, "u"), send(run), came_to(run, "u")]
