"""The log's lines."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from onward.adapters.host.log import HostLog, configure_log


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    logger = logging.getLogger("onward")
    before = (list(logger.handlers), logger.level, logger.propagate)
    yield
    logger.handlers[:], logger.propagate = before[0], before[2]
    logger.setLevel(before[1])


def lines(*events: tuple[str, str, dict[str, object]], **options: object) -> list[str]:
    stream = io.StringIO()
    configure_log(stream=stream, **options)  # type: ignore[arg-type]  # test data
    for level, message, fields in events:
        HostLog().write(level, message, **fields)
    return stream.getvalue().splitlines()


def test_a_json_line_holds_time_level_message_and_fields():
    (line,) = lines(("warning", "slow", {"node": "a", "ms": 12}), as_json=True)

    event = json.loads(line)
    assert event.pop("time").endswith("Z")
    assert {"level": "warning", "message": "slow", "node": "a", "ms": 12} == event


def test_fields_cannot_overwrite_the_level_or_the_time():
    (line,) = lines(("info", "x", {"time": "never"}), as_json=True)

    assert "never" != json.loads(line)["time"]


def test_a_text_line_reads_time_level_message_and_pairs():
    (line,) = lines(("error", "it broke", {"node": "a", "why": "no luck"}))

    assert 'ERROR it broke node=a why="no luck"' == line.split(" ", 1)[1]


def test_a_line_break_in_a_message_cannot_forge_a_second_line():
    found = lines(("info", "one\n2026-01-01 ERROR forged\r\x1b[31m", {"x": "a\nb"}))

    assert 1 == len(found)
    assert "\x1b" not in found[0]


def test_lines_below_the_level_are_left_out():
    assert 1 == len(lines(("debug", "a", {}), ("info", "b", {})))


def test_an_unknown_level_is_written_as_an_error():
    (line,) = lines(("shout", "hey", {}))

    assert "ERROR hey" in line


def test_nothing_goes_to_standard_output(capsys: pytest.CaptureFixture[str]):
    configure_log()
    HostLog().write("info", "hello %s")

    out, err = capsys.readouterr()
    assert "" == out
    assert "hello %s" in err
