"""Proof that every operation was asked for, over HTTP, on both backends.

Every service of these tests notes which operation it answered well, and on which backend. A run of
the whole folder says at its end which pairs are missing; a run of some tests proves nothing of the
kind and says nothing. What the machine-made tests ask for does not count: nobody says there
what the answer must be.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onward.api.routing.permissions import PERMISSIONS

BACKENDS = ("embedded", "distributed")
FOLDER = Path(__file__).parent
REFUSED = {("release_messages", "embedded")}
"""What a backend refuses whoever asks, and its tests hold it to: test_quarantine."""
UNCOUNTED = ("test_fuzz", "test_authorisation")

_seen: set[tuple[str, str]] = set()
_missing: list[str] = []


def noting(app, backend):
    """Return an application that does the same and notes which operations were answered well."""

    async def noted(scope, receive, send):
        async def heard(message):
            ok = message.get("status", 500) < 400 or message["type"] == "websocket.accept"
            if ok and message["type"] in {"http.response.start", "websocket.accept"}:
                _note(scope, backend)
            await send(message)

        await app(scope, receive, heard)

    return noted


def _note(scope, backend):
    route = scope.get("route")
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    if route is not None and not any(one in test for one in UNCOUNTED):
        _seen.add((route.name, backend))


def lacking(seen):
    """Return what was not asked for, of the backends that were there at all.

    Where the services of a cluster are missing its tests are skipped, and the run says so.
    """
    there = [one for one in BACKENDS if any(backend == one for _, backend in seen)]
    return sorted(
        f"{operation} was never asked for and answered well: {backend}"
        for backend in there
        for operation in PERMISSIONS  # which is what is described: test_authorisation
        if (operation, backend) not in seen | REFUSED
    )


def whole(config):
    """Whether all tests of this folder are selected, but perhaps the slow ones."""
    chosen = config.option
    places = [Path(arg.partition("::")[0]).resolve() for arg in config.args]
    return (
        not any("::" in arg for arg in config.args)
        and any(FOLDER == place or place in FOLDER.parents for place in places)
        and chosen.markexpr in {"", "not slow"}
        and not (chosen.keyword or chosen.collectonly or chosen.deselect)
        and not (chosen.ignore or chosen.ignore_glob)
    )


class Others:
    """What the workers of a divided run noted."""

    def pytest_testnodedown(self, node):
        """Take over what a worker noted."""
        _seen.update(tuple(one) for one in getattr(node, "workeroutput", {}).get("exercised", ()))


def pytest_configure(config):
    """Listen to the workers, where there are some."""
    if config.pluginmanager.hasplugin("dsession"):
        config.pluginmanager.register(Others())


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    """Fail a run of the whole folder that left an operation out."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["exercised"] = sorted(_seen)
    elif session.exitstatus == pytest.ExitCode.OK and whole(config):
        _missing[:] = lacking(_seen)
        if _missing:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    """Say what is missing."""
    if _missing:
        terminalreporter.section("operations without a test", red=True, bold=True)
        for one in _missing:
            terminalreporter.line(one, red=True)
