"""The port for running processes of the host, which is only possible where it is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

from onward.ports.nodes.outside import OutsideError

CommandKind = Literal["shell", "script", "container", "mcp"]
COMMAND_KINDS: tuple[CommandKind, ...] = get_args(CommandKind)
_NAMES: Mapping[CommandKind, str] = {"mcp": "server of the Model Context Protocol"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One process: what to execute, and all that it gets."""

    argv: tuple[str, ...]
    stdin: bytes = field(default=b"", repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The content of the folder that it runs in, which is its own and removed afterwards."""
    undo: tuple[str, ...] = ()
    """A command to execute if it is stopped, for what its end alone would not stop."""
    max_bytes: int = 1024 * 1024
    """How much it may write to its output, and to its error output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """How a process ended. A negative code is the signal that ended it."""

    code: int
    stdout: bytes = b""
    stderr: bytes = b""


class Conversation(Protocol):
    """A conversation with a process, line by line."""

    async def say(self, line: bytes) -> None:
        """Write a line to its input; a process that no longer reads shows at the next `hear`."""
        ...

    async def hear(self) -> bytes:
        """Return the next line of its output, without its line break.

        Raises OutsideError with code RUN_ENDED when it has ended, RUN_OUTPUT for too long a line.
        """
        ...


class Commands(Protocol):
    """Runs processes."""

    async def run(self, kind: CommandKind, command: Command) -> CommandResult:
        """Run a process to its end; cancelled, it is killed with everything it has started.

        Raises OutsideError with code RUN_FORBIDDEN, RUN_NOT_FOUND or RUN_OUTPUT.
        """
        ...

    async def start(self, kind: CommandKind, command: Command) -> None:
        """Start a process that runs on by itself; its output is dropped. Raises OutsideError like
        `run`."""
        ...

    def converse(
        self, kind: CommandKind, command: Command
    ) -> AbstractAsyncContextManager[Conversation]:
        """Converse with a process; raises OutsideError like `run`.

        When the context is left its input is closed. It has a moment to end by itself, and then it
        is killed with everything it has started.
        """
        ...


def refusal_of(kind: CommandKind) -> OutsideError:
    """Return the refusal of a kind of process that is not allowed."""
    return OutsideError(
        f"running a {_NAMES.get(kind, kind)} is not allowed here:"
        f" start this process with --allow {kind}",
        "RUN_FORBIDDEN",
    )


class _NoCommands:
    async def run(self, kind: CommandKind, command: Command) -> CommandResult:
        raise refusal_of(kind)

    async def start(self, kind: CommandKind, command: Command) -> None:
        raise refusal_of(kind)

    def converse(
        self, kind: CommandKind, command: Command
    ) -> AbstractAsyncContextManager[Conversation]:
        raise refusal_of(kind)


NO_COMMANDS: Commands = _NoCommands()
"""Refuses every kind."""
