"""What a node's output says to the caller of a webhook, and how many may call."""

import pytest

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
