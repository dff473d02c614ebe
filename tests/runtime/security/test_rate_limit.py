"""How often something may be tried."""

from onward.runtime.security.rate_limit import MOST_KEYS, Rate, RateLimiter, per_minute


class Clock:
    """A clock that stands still until it is moved."""

    ms = 1_000_000

    def now_ms(self):
        return self.ms


def test_a_burst_is_let_through_and_then_one_after_the_other():
    clock = Clock()
    limiter = RateLimiter(clock, Rate(3, 0.5))

    assert [0, 0, 0, 2.0] == [limiter.take("a") for _ in range(4)]
    assert 0 == limiter.take("b")
    clock.ms += 1_000
    assert 1.0 == limiter.take("a")
    clock.ms += 1_000
    assert [0, 2.0] == [limiter.take("a") for _ in range(2)]


def test_what_was_given_back_can_be_taken_again_and_no_more_than_the_burst():
    limiter = RateLimiter(Clock(), Rate(1, 0.1))
    limiter.give_back("a")

    assert 0 == limiter.take("a")
    assert limiter.take("a") > 0
    limiter.give_back("a")
    assert 0 == limiter.take("a")


def test_a_clock_that_goes_back_gives_nothing():
    clock = Clock()
    limiter = RateLimiter(clock, Rate(1, 1))
    limiter.take("a")
    clock.ms -= 60_000

    assert limiter.take("a") > 0


def test_memory_is_bounded_and_the_longest_unused_is_forgotten():
    limiter = RateLimiter(Clock(), Rate(1, 0.001))
    for number in range(MOST_KEYS + 1):
        limiter.take(str(number))

    assert 0 == limiter.take("0")
    assert limiter.take(str(MOST_KEYS)) > 0
    assert MOST_KEYS == len(limiter._buckets)


def test_a_minute_allows_so_many_at_once_and_then_one_by_one():
    clock = Clock()
    limiter = RateLimiter(clock, per_minute(1))
    rate = per_minute(3)

    assert [0, 0, 0, 20] == [round(limiter.take("a", rate), 3) for _ in range(4)]
    clock.ms += 20_000
    assert [0, 20] == [round(limiter.take("a", rate), 3) for _ in range(2)]
    assert 0 == limiter.take("other", rate)
