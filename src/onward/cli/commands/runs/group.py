"""The group `onward runs`. Without a subcommand it lists runs, as `onward runs ls` does."""

from __future__ import annotations

import click

from onward.cli.commands.runs.control import adjust, cancel, pause, resume, retry
from onward.cli.commands.runs.explain import explain
from onward.cli.commands.runs.inspect import (
    data,
    definition,
    family,
    items,
    list_runs,
    logs,
    nodes,
    show,
    visits,
)
from onward.cli.commands.runs.signals import callback, signal, signals, waits
from onward.cli.commands.runs.start import events, start, watch
from onward.cli.options import examples


class RunsGroup(click.Group):
    """A group whose default command is `ls`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, with the name of the command in front."""
        asks_help = bool(args) and args[0] in ctx.help_option_names
        if not ctx.resilient_parsing and not asks_help and (not args or args[0].startswith("-")):
            args = self._with_command(args)
        return super().parse_args(ctx, args)

    def _with_command(self, args: list[str]) -> list[str]:
        """Put the command before options that were given first, as in `runs --db FILE show ID`."""
        flags = {
            name
            for parameter in list_runs.params
            if isinstance(parameter, click.Option) and parameter.is_flag
            for name in parameter.opts
        }
        index = 0
        while index < len(args) and args[index].startswith("-"):
            index += 1 if args[index] in flags or "=" in args[index] else 2
        if index < len(args) and args[index] in self.commands:
            return [args[index], *args[:index], *args[index + 1 :]]
        return [list_runs.name or "", *args]


@click.group(
    cls=RunsGroup,
    epilog=examples("onward runs", "onward runs --json | jq '.[] | select(.status == \"failed\")'"),
)
def runs() -> None:
    """List, start, inspect and control runs.

    Without a command it lists runs, with the options of `ls`. Reading never disturbs a run.
    """


for _command in (
    list_runs,
    show,
    start,
    watch,
    cancel,
    pause,
    resume,
    retry,
    adjust,
    signal,
    signals,
    waits,
    callback,
    explain,
    events,
    nodes,
    items,
    visits,
    logs,
    data,
    definition,
    family,
):
    runs.add_command(_command)
