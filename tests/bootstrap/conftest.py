"""The command, in an empty directory and an environment that says nothing about onward."""

import asyncio
import os
from types import SimpleNamespace

import msgspec
import pytest

from onward.cli.main import main


@pytest.fixture
def doctor(tmp_path, monkeypatch, capfd):
    """`onward doctor` in this process: its code, its lines, and its findings by check."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("ONWARD_")]:
        monkeypatch.delenv(name)

    def run(*words):
        with pytest.raises(SystemExit) as ending:
            main(["doctor", "--json", *map(str, words)])
        out, err = capfd.readouterr()
        answer = msgspec.json.decode(out)
        found = {one["check"]: SimpleNamespace(**one) for one in answer["findings"]}
        return SimpleNamespace(
            code=ending.value.code, found=found, out=out, err=err, healthy=answer["healthy"]
        )

    return run


@pytest.fixture
def run_async():
    """Runs a coroutine on a loop of its own: the command under test makes one too."""

    def run(work):
        # Not asyncio.run: it would take the plugin's event loop off the thread.
        loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(work)
        finally:
            loop.close()

    return run
