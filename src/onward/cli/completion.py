"""`onward completion`: the script that lets a shell complete commands, ids and names."""

from __future__ import annotations

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
