"""The frames made by hand are those that the client library makes."""

import pika
import pytest
from pika import frame, spec

from onward.adapters.rabbitmq.frames import acks, message

FRAME_MAX = 4096


def by_the_library(channel, queue, body, correlation, priority):
    properties = pika.BasicProperties(
        content_type="application/json",
        delivery_mode=2,
        priority=priority,
        correlation_id=correlation,
    )
    room = FRAME_MAX - spec.FRAME_HEADER_SIZE - spec.FRAME_END_SIZE
    pieces = [body[start : start + room] for start in range(0, len(body), room)]
    return b"".join(
        part.marshal()
        for part in (
            frame.Method(channel, spec.Basic.Publish(routing_key=queue, mandatory=True)),
            frame.Header(channel, len(body), properties),
            *(frame.Body(channel, piece) for piece in pieces),
        )
    )


@pytest.mark.parametrize("size", [0, 1, FRAME_MAX - 8, FRAME_MAX - 7, 3 * FRAME_MAX])
def test_a_message_is_what_the_library_would_send(size):
    given = (7, "workflow.execution", b"x" * size, "12 workflow.execution", 9)

    assert by_the_library(*given) == message(*given, FRAME_MAX)


def test_acknowledgements_are_what_the_library_would_send():
    wanted = [
        frame.Method(3, spec.Basic.Ack(41, multiple=True)),
        frame.Method(3, spec.Basic.Ack(44)),
        frame.Method(3, spec.Basic.Ack(2**40)),
    ]

    assert b"".join(method.marshal() for method in wanted) == acks(3, [44, 2**40], 41)


def test_nothing_to_acknowledge_is_nothing_to_send():
    assert b"" == acks(1, [], 0)
