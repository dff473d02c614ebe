"""How often something may be tried."""

from onward.runtime.security.rate_limit import MOST, Buckets


class Clock:
    """A clock that stands still until it is moved."""

    ms = 1_000_000

    def now_ms(self):
        return self.ms


def test_a_burst_is_let_through_and_then_one_after_the_other():
    clock = Clock()
    buckets = Buckets(clock, burst=3, per_s=0.5)

    assert [0, 0, 0, 2.0] == [buckets.take("a") for _ in range(4)]
    assert 0 == buckets.take("b")
    clock.ms += 1_000
    assert 1.0 == buckets.take("a")
    clock.ms += 1_000
    assert [0, 2.0] == [buckets.take("a") for _ in range(2)]


def test_what_was_given_back_can_be_taken_again_and_no_more_than_the_burst():
    buckets = Buckets(Clock(), burst=1, per_s=0.1)
    buckets.give_back("a")

    assert 0 == buckets.take("a")
    assert buckets.take("a") > 0
    buckets.give_back("a")
    assert 0 == buckets.take("a")


def test_a_clock_that_goes_back_gives_nothing():
    clock = Clock()
    buckets = Buckets(clock, burst=1, per_s=1)
    buckets.take("a")
    clock.ms -= 60_000

    assert buckets.take("a") > 0


def test_memory_is_bounded_and_the_longest_unused_is_forgotten():
    buckets = Buckets(Clock(), burst=1, per_s=0.001)
    for number in range(MOST + 1):
        buckets.take(str(number))

    assert 0 == buckets.take("0")
    assert buckets.take(str(MOST)) > 0
    assert MOST == len(buckets._left)
