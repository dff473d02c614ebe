"""Processes of the host: allowed or not, limited, and killed with everything they started."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from onward.adapters.host.commands import HostCommands
from onward.ports.nodes.commands import Command
from onward.ports.nodes.outside import OutsideError
from onward.subprocesses import Subprocess


def shell(text, **more):
    return Command(argv=("/bin/sh", "-c", text), **more)


async def test_a_process_gives_its_code_and_what_it_wrote():
    finished = await HostCommands(["shell"]).run(
        "shell", shell("cat; echo bad >&2; exit 3", stdin=b"in")
    )

    assert (3, b"in", b"bad\n") == (finished.code, finished.stdout, finished.stderr)


async def test_what_is_not_allowed_is_refused_with_the_flag_that_allows_it():
    with pytest.raises(OutsideError, match="--allow script") as refused:
        await HostCommands(["shell"]).run("script", shell("true"))

    assert "RUN_FORBIDDEN" == refused.value.code


async def test_a_program_that_is_not_there_is_named():
    with pytest.raises(OutsideError, match="there is no nothing-like-it here"):
        await HostCommands(["shell"]).run("shell", Command(argv=("nothing-like-it",)))


async def test_a_process_sees_nothing_of_our_environment_that_could_be_secret(monkeypatch):
    monkeypatch.setenv("ONWARD_KEY", "s3cret")
    finished = await HostCommands(["shell"]).run("shell", shell("env", environment={"MINE": "yes"}))

    assert b"MINE=yes" in finished.stdout
    assert b"s3cret" not in finished.stdout


async def test_its_folder_has_its_files_and_is_gone_afterwards():
    finished = await HostCommands(["shell"]).run(
        "shell", shell("pwd; cat data", files={"data": b"content"})
    )

    folder, content = finished.stdout.decode().split("\n")
    assert "content" == content
    assert not Path(folder).exists()


async def test_too_much_output_stops_it():
    with pytest.raises(OutsideError, match="more than 1000 bytes"):
        await HostCommands(["shell"]).run("shell", shell("yes", max_bytes=1000))


async def test_more_input_than_it_reads_is_no_error():
    finished = await HostCommands(["shell"]).run("shell", shell("true", stdin=b"x" * 1_000_000))

    assert 0 == finished.code


async def test_a_process_that_is_cancelled_dies_with_its_children_and_what_it_did_is_undone(
    tmp_path,
):
    pids, undone = tmp_path / "pids", tmp_path / "undone"
    text = f"sleep 1000 & echo $! > {pids}.new; mv {pids}.new {pids}; wait"
    command = shell(text, undo=("/bin/sh", "-c", f"echo yes > {undone}"))
    task = asyncio.create_task(HostCommands(["shell"]).run("shell", command))
    async with asyncio.timeout(30):
        while not pids.exists():
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert "yes\n" == undone.read_text()
    assert not _alive(int(pids.read_text()))


async def test_a_process_that_is_cancelled_while_it_starts_is_stopped_and_undone_too(
    tmp_path, monkeypatch
):
    """It can be at work before its pipes are connected."""
    pids, undone = tmp_path / "pids", tmp_path / "undone"
    text = f"sleep 1000 & echo $! > {pids}.new; mv {pids}.new {pids}; wait"
    command = shell(text, undo=("/bin/sh", "-c", f"echo yes > {undone}"))
    start = Subprocess.start

    async def start_slowly(*argv, **options):
        process = await start(*argv, **options)
        while not pids.exists():
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0)
        return process

    monkeypatch.setattr(Subprocess, "start", start_slowly)
    task = asyncio.create_task(HostCommands(["shell"]).run("shell", command))
    with pytest.raises(asyncio.CancelledError):
        await task

    assert "yes\n" == undone.read_text()
    assert not _alive(int(pids.read_text()))


def _alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" != Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def test_a_process_that_nobody_waits_for_goes_on(tmp_path):
    done = tmp_path / "done"
    commands = HostCommands(["script"])
    script = (
        "import os, sys; from pathlib import Path; new = Path('new');"
        f"new.write_text(os.getcwd() + ' ' + sys.stdin.read()); new.replace({str(done)!r})"
    )
    await commands.start("script", Command(argv=(sys.executable, "-I", "-c", script), stdin=b"in"))

    async with asyncio.timeout(30):
        while not done.exists() or Path(done.read_text().partition(" ")[0]).exists():
            await asyncio.sleep(0.01)
    assert done.read_text().endswith(" in")


async def test_a_process_is_talked_with_line_by_line():
    command = shell('while read -r line; do echo "heard $line"; done; echo over >&2')

    async with HostCommands(["mcp"]).converse("mcp", command) as talk:
        heard = []
        for word in (b"one", b"two"):
            await talk.say(word)
            heard.append(await talk.hear())

    assert [b"heard one", b"heard two"] == heard


async def test_a_process_that_ends_amid_a_talk_says_why():
    command = shell("echo no key >&2; exit 3")

    async with HostCommands(["mcp"]).converse("mcp", command) as talk:
        await talk.say(b"hello")
        with pytest.raises(OutsideError, match="ended with code 3: no key") as problem:
            await talk.hear()

    assert "RUN_ENDED" == problem.value.code


async def test_a_line_that_is_too_long_is_an_error():
    command = shell("head -c 5000 /dev/zero | tr '\\0' x; sleep 60", max_bytes=1000)

    async with HostCommands(["mcp"]).converse("mcp", command) as talk:
        with pytest.raises(OutsideError, match="too long"):
            await talk.hear()


async def test_a_process_that_does_not_end_after_a_talk_is_killed(tmp_path):
    command = shell("trap '' TERM HUP; (sleep 600; echo) & echo $!; wait; sleep 600")

    async with HostCommands(["mcp"]).converse("mcp", command) as talk:
        child = int(await talk.hear())

    assert not _alive(child)
