"""What a node's output says to the caller of a webhook, and how many may call."""

import pytest

from onward.runtime.security.rate_limit import MOST_KEYS, Throttle
from onward.runtime.triggers.webhooks import reply_of


@pytest.mark.parametrize(
    ("output", "status", "headers", "body"),
    [
        ({"n": 1}, 200, {"content-type": "application/json"}, b'{"n":1}'),
        ("hi", 200, {"content-type": "text/plain; charset=utf-8"}, b"hi"),
        (None, 200, {"content-type": "application/json"}, b"null"),
        ({"status": 404}, 404, {"content-type": "application/json"}, b"null"),
        ({"status": 204, "body": "x"}, 204, {}, b""),
        (
            {"status": 99, "body": 1},
            200,
            {"content-type": "application/json"},
            b'{"status":99,"body":1}',
        ),
        (
            {
                "headers": {"Content-Type": "text/html", "X-A": "1\r\nX-B: 2", "Server": "x"},
                "body": "<b>",
            },
            200,
            {"content-type": "text/html"},
            b"<b>",
        ),
        (
            {"status": 201, "more": 1},
            200,
            {"content-type": "application/json"},
            b'{"status":201,"more":1}',
        ),
    ],
)
def test_an_output_becomes_an_answer(output, status, headers, body):
    assert (status, headers, body) == reply_of(output)


def test_a_minute_allows_so_many_at_once_and_then_one_by_one():
    throttle, now = Throttle(), 1_000_000

    assert [0, 0, 0] == [throttle.take("t", 3, now) for _ in range(3)]
    assert 20_000 == throttle.take("t", 3, now)
    assert [0, 20_000] == [throttle.take("t", 3, now + 20_000) for _ in range(2)]
    assert 0 == throttle.take("other", 3, now)


def test_the_throttle_remembers_only_so_many():
    throttle = Throttle()
    for number in range(MOST_KEYS + 5):
        throttle.take(str(number), 1, 1_000_000)

    assert 0 == throttle.take("0", 1, 1_000_000)
    assert 0 < throttle.take(str(MOST_KEYS), 1, 1_000_000)
