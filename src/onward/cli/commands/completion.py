"""`onward completion`, and the completion of ids in a shell.

The completion functions return what the engine has, or nothing when it does not answer at once.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from onward.cli import exit_codes
from onward.cli.options import examples

MOST_IDS = 50
TIMEOUT_S = 2.0


@click.command(
    epilog=examples(
        "onward completion bash >> ~/.bashrc",
        "onward completion fish > ~/.config/fish/completions/onward.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the completion script for SHELL, to be evaluated in its start-up file."""
    from click.shell_completion import get_completion_class

    from onward.cli.main import onward

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"there is no completion for {shell}")
    click.echo(kind(onward, {}, "onward", "_ONWARD_COMPLETE").source())
    return exit_codes.OK


def run_ids(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the newest runs whose ids begin with a text."""
    return _ids(context, "runs", "execution_id", incomplete)


def workflow_ids(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the workflows whose ids begin with a text."""
    return _ids(context, "workflows", "workflow_id", incomplete)


def trigger_ids(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Return the triggers whose ids begin with a text."""
    return _ids(context, "triggers", "trigger_id", incomplete)


def _ids(context: click.Context, resource: str, field: str, incomplete: str) -> list[str]:
    given = context.params
    with suppress(Exception):  # a key was pressed: this is no place for error messages
        if given.get("server"):
            return _on_server(given["server"], given.get("token"), resource, field, incomplete)
        return _in_file(Path(given["database"]), resource, incomplete)
    return []


def _in_file(database: Path, resource: str, incomplete: str) -> list[str]:
    from onward.bootstrap.embedded import open_history

    with open_history(database) as history:
        lists = {
            "runs": history.run_ids,
            "workflows": history.workflow_ids,
            "triggers": history.trigger_ids,
        }
        return lists[resource](incomplete, MOST_IDS)


def _on_server(
    url: str, token: str | None, resource: str, field: str, incomplete: str
) -> list[str]:
    import asyncio

    from onward.client import AsyncEngine

    async def ask() -> list[str]:
        async with asyncio.timeout(TIMEOUT_S), AsyncEngine.connect(url, token) as client:
            search = {} if resource == "triggers" else {"q": incomplete}
            page = await client.call("GET", f"/{resource}", query={**search, "limit": MOST_IDS})
            return [str(entry[field]) for entry in page["items"]]

    return [found for found in asyncio.run(ask()) if found.startswith(incomplete)]
