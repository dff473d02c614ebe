"""A command group that imports a command only when it is used: help and completion stay instant."""

from __future__ import annotations

from importlib import import_module

import click


class LazyGroup(click.Group):
    """Commands by name, each with its place (`module:attribute`) and its one-line help."""

    def __init__(self, *, lazy: dict[str, tuple[str, str]], **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]  # click's own settings, unchanged
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which people need them."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command called `cmd_name`; None when there is none."""
        if cmd_name not in self._lazy:
            return None
        module, _, attribute = self._lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that `args` begin with, or fail with the one that was probably meant."""
        name = args[0]
        if name not in self._lazy and not name.startswith("-"):
            raise click.NoSuchCommand(name, possibilities=self._lazy, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in self._lazy.items()])
