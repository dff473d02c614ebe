"""`onward completion`: the script that lets a shell complete commands, ids and names."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from onward.cli.options import examples


@click.command(
    epilog=examples(
        "onward completion bash >> ~/.bashrc",
        "onward completion fish > ~/.config/fish/completions/onward.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the script for SHELL: evaluate it in the file that your shell reads at its start."""
    from click.shell_completion import get_completion_class

    from onward.cli.main import onward

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"there is no completion for {shell}")
    click.echo(kind(onward, {}, "onward", "_ONWARD_COMPLETE").source())
    return 0


# -- Shell completion of ids and names: what is there, or nothing when nobody answers at once.


MOST = 50
PATIENCE_S = 2.0


def run_ids(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the newest runs whose ids begin so."""
    return _asked(context, "runs", "execution_id", incomplete)


def workflow_ids(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the workflows whose ids begin so."""
    return _asked(context, "workflows", "workflow_id", incomplete)


def trigger_ids(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the triggers whose ids begin so."""
    return _asked(context, "triggers", "trigger_id", incomplete)


def _asked(context: click.Context, what: str, name: str, incomplete: str) -> list[str]:
    given = context.params
    with suppress(Exception):  # whoever presses a key does not want to read about a server
        if given.get("server"):
            return _on_server(given["server"], given.get("token"), what, name, incomplete)
        return _in_file(Path(given["database"]), what, incomplete)
    return []


def _in_file(database: Path, what: str, incomplete: str) -> list[str]:
    from onward.bootstrap.embedded import open_history

    with open_history(database) as history:
        known = {
            "runs": history.run_ids,
            "workflows": history.workflow_ids,
            "triggers": history.trigger_ids,
        }
        return known[what](incomplete, MOST)


def _on_server(url: str, token: str | None, what: str, name: str, incomplete: str) -> list[str]:
    import asyncio

    from onward.client import AsyncEngine

    async def go() -> list[str]:
        async with asyncio.timeout(PATIENCE_S), AsyncEngine.connect(url, token) as engine:
            asked = {"limit": MOST} if what == "triggers" else {"q": incomplete, "limit": MOST}
            found = await engine.call("GET", f"/{what}", query=asked)
            return [str(one[name]) for one in found["items"]]

    return [one for one in asyncio.run(go()) if one.startswith(incomplete)]
