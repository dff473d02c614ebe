"""`onward triggers`: on a file."""

from pathlib import Path

import pytest

from .conftest import Onward, node


@pytest.fixture
def kept(quick: Onward, here: Path, document) -> Onward:
    document("order.json", node("a", "noop"))
    assert 0 == quick("workflows", "push", "order.json").code
    return quick


def test_a_schedule_is_added_shown_and_removed(kept: Onward):
    name = kept("workflows", "ls", "-o", "ids").out.strip()
    zone = ("--zone", "Europe/Berlin", "--overlap", "queue", "--input", '{"a": 1}')
    made = kept("triggers", "add", "t", name, "--cron", "30 2 * * *", *zone, "-o", "json").json
    times = kept("triggers", "next", "t", "--count", 2, "--after", "2026-10-24T12:00:00Z")
    off = kept("triggers", "disable", "t", "-o", "json").json
    on = kept("triggers", "enable", "t", "-o", "json").json
    fired = kept("triggers", "fire", "t")
    shown = kept("triggers", "show", "t", "-o", "json").json
    gone = kept("triggers", "rm", "t")

    assert ("30 2 * * *", "queue", {"a": 1}) == tuple(
        made["settings"][key] for key in ("expression", "overlap", "input")
    )
    assert "2026-10-25T00:30:00.000Z\n2026-10-26T01:30:00.000Z\n" == times.out
    assert (False, True) == (off["enabled"], on["enabled"])
    assert fired.out.strip() == shown["firings"][0]["execution_id"]
    assert (0, "removed t\n") == (gone.code, gone.err)
    assert 5 == kept("triggers", "show", "t").code


def test_a_range_is_made_up_for(kept: Onward):
    name = kept("workflows", "ls", "-o", "ids").out.strip()
    kept("triggers", "add", "t", name, "--cron", "@daily")
    span = ("--from", "2026-03-01T00:00:00Z", "--until", "2026-03-03T00:00:00Z")

    assert "3 of 3 times will fire\n" == kept("triggers", "backfill", "t", *span).out
    assert "0 of 3 times will fire\n" == kept("triggers", "backfill", "t", *span).out


def test_the_secret_of_a_webhook_is_shown_once(kept: Onward):
    name = kept("workflows", "ls", "-o", "ids").out.strip()
    made = kept("triggers", "add", "t", name, "--webhook", "orders", "--respond", "result")

    assert "whsec_" in made.out
    assert "not shown again" in made.err
    assert "whsec_" not in kept("triggers", "show", "t", "-o", "json").out
    assert "orders" in kept("triggers", "ls").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give one of"),
        (["--cron", "@daily", "--manual"], "give one of"),
        (["--every", "1h", "--zone", "UTC"], "--zone cannot be used with --every"),
        (["--every", "often"], "span of time"),
        (["--manual", "--input", "{"], "--input"),
        (["--cron", "daily"], "five fields"),
        (["--webhook", "orders", "--unsigned"], "guess"),
    ],
)
def test_what_does_not_fit_together_is_wrong_usage(kept: Onward, words, said):
    name = kept("workflows", "ls", "-o", "ids").out.strip()
    done = kept("triggers", "add", "t", name, *words)

    assert (2, "") == (done.code, done.out)
    assert said in done.err
