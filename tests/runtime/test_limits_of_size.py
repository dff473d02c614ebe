"""What is too large is refused with its size, and with the node it belongs to."""

import pytest

from onward.errors import MessageError
from onward.kernel.messages import MAX_BYTES, Token, encode_message
from onward.kernel.outcome import Failed, Succeeded
from onward.runtime.token import pipeline
from onward.runtime.token.pipeline import storable


def test_an_output_beyond_the_limit_is_a_failed_node_that_names_its_size(monkeypatch):
    monkeypatch.setattr(pipeline, "OUTPUT_LIMIT", 100)

    kept, refused = storable(Succeeded("x" * 98)), storable(Succeeded("x" * 99))

    assert isinstance(kept, Succeeded)
    assert isinstance(refused, Failed)
    assert "OUTPUT_TOO_LARGE" == refused.error.code
    assert refused.error.message.startswith("the node's output has 101 bytes, more than 100")


def test_a_message_beyond_the_limit_names_its_node_and_its_size():
    token = Token(
        workflow_id="w",
        execution_id="e",
        current_node="big",
        accumulated_context={},
        traceparent="x" * MAX_BYTES,
    )

    with pytest.raises(MessageError, match=r"message of \d+ bytes for node 'big' of e exceeds"):
        encode_message(token)
