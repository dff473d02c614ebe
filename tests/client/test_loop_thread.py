"""The synchronous client where an event loop is running already: a notebook, a web handler."""

import pytest

from onward import Engine
from onward.client.loop_thread import Portal
from support.documents import TRIGGER, workflow


async def test_an_engine_is_closed_cleanly_inside_a_running_loop(tmp_path):
    document = workflow(TRIGGER)

    with Engine.embedded(tmp_path / "o.db") as engine:
        run = engine.start(document, {"name": "Ada"})
        result = run.result()

    assert {"name": "Ada"} == result


async def test_the_error_of_the_block_is_what_is_raised(tmp_path):
    with pytest.raises(ZeroDivisionError), Engine.embedded(tmp_path / "o.db") as engine:
        engine.start(workflow(TRIGGER), {})
        raise ZeroDivisionError


def test_a_portal_is_closed_although_its_last_work_fails():
    async def fail():
        raise ValueError("no")

    portal = Portal()
    with pytest.raises(ValueError, match="no"):
        portal.close(fail())

    assert not portal._thread.is_alive()
