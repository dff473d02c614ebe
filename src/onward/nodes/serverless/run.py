"""`run` of the Serverless Workflow DSL: a shell command, a script, a container, a workflow."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

import msgspec

from onward.kernel.ids import derive
from onward.kernel.outcome import Awaits, Failed, NodeError, Succeeded
from onward.nodes.failures import RefusedError, failure_of
from onward.nodes.serverless.fetched_documents import ResourceLocation, fetch_text
from onward.ports.nodes.commands import Command, CommandKind, CommandResult
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import OutsideError

Scalar = str | int | float | bool | None
Return = Literal["stdout", "stderr", "code", "all", "none"]
_ENGINES = ("docker", "podman")
_PULL = {"ifNotPresent": "missing", "always": "always", "never": "never"}
_POSITIONAL = re.compile(r"\$(?:[1-9@*#]|\{[1-9@*#])")
_SAFE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_DETAIL = 2_000


class _RunProcess(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields and the course that every kind of process shares."""

    kind: ClassVar[CommandKind]
    awaited: bool = msgspec.field(default=True, name="await")
    returned: Return | None = msgspec.field(default=None, name="return")
    stdin: Any = None
    arguments: list[Scalar] | None = None
    environment: dict[str, Scalar] | None = None

    async def command(self, tools: Tools) -> Command:
        """Return what to execute. Raises RefusedError and OutsideError."""
        raise NotImplementedError

    async def finish(self, tools: Tools) -> None:
        """Do what is due after the end of a process that was awaited."""

    async def run(self, tools: Tools) -> Succeeded | Failed:
        """Run the process, or only start it."""
        try:
            command = await self.command(tools)
            if not self.awaited:
                await tools.commands.start(self.kind, command)
                return Succeeded(None)
            finished = await tools.commands.run(self.kind, command)
            await self.finish(tools)
        except (OutsideError, RefusedError) as problem:
            return failure_of(problem)
        return self._outcome(finished)

    def _outcome(self, finished: CommandResult) -> Succeeded | Failed:
        stdout, stderr = (
            stream.decode("utf-8", "replace") for stream in (finished.stdout, finished.stderr)
        )
        match self.returned:
            case "code":
                return Succeeded(finished.code)
            case "all":
                return Succeeded({"code": finished.code, "stdout": stdout, "stderr": stderr})
            case "none":
                return Succeeded(None)
        if finished.code != 0:
            text = (stderr or stdout).strip()[-_LONGEST_DETAIL:]
            message = f"the {self.kind} ended with code {finished.code}"
            return Failed(NodeError(f"{message}: {text}" if text else message, "RUN_FAILED"))
        return Succeeded(stderr if self.returned == "stderr" else stdout)

    def _shared(self) -> dict[str, Any]:
        return {"stdin": _bytes(self.stdin), "environment": _texts(self.environment or {})}

    def _arguments(self) -> tuple[str, ...]:
        return as_texts(self.arguments or ())


class RunShell(_RunProcess, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Run a command of the shell."""

    kind: ClassVar[CommandKind] = "shell"
    shell: str

    async def command(self, tools: Tools) -> Command:
        """Return the shell with its command."""
        return Command(argv=_shell(self.shell, self._arguments()), **self._shared())


class RunScript(_RunProcess, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Run a script, in a folder of its own: its code is in the document, or fetched now."""

    kind: ClassVar[CommandKind] = "script"
    language: Literal["python", "js", "javascript"]
    code: str = ""
    source: ResourceLocation | None = None

    async def command(self, tools: Tools) -> Command:
        """Return the interpreter with its script."""
        code = self.code if self.source is None else await fetch_text(tools, self.source)
        if self.language == "python":
            start, file = [sys.executable, "-I"], "script.py"
        else:
            start, file = ["node"], "script.js"
        argv = (*start, file, *self._arguments())
        return Command(argv=argv, files={file: code.encode()}, **self._shared())


class RunContainer(_RunProcess, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Run a container; one that is left over from a worker that died is removed first."""

    kind: ClassVar[CommandKind] = "container"
    image: str
    name: str = ""
    container_command: str = msgspec.field(default="", name="command")
    ports: dict[str, Scalar] | None = None
    volumes: dict[str, Scalar] | None = None
    cleanup: Literal["always", "never", "eventually"] = "always"
    after_ms: int = 0
    """How long after its end a container is removed eventually."""
    pull: Literal["ifNotPresent", "always", "never"] = "ifNotPresent"

    async def finish(self, tools: Tools) -> None:
        """Have the container removed after a while: by a process that does not need this one."""
        if self.cleanup == "eventually":
            argv = ("/bin/sh", "-c", self._remove_later(self._name(tools)))
            await tools.commands.start(self.kind, Command(argv=argv))

    def _name(self, tools: Tools) -> str:
        return self.name or f"onward-{derive(tools.idempotency_key, 'container')[:20]}"

    def _remove_later(self, name: str) -> str:
        # By its id: until then the name may be that of another one.
        return _ENGINE_LATER.replace("NAME", name).replace("SECONDS", f"{self.after_ms / 1000:g}")

    async def command(self, tools: Tools) -> Command:
        """Return the engine with the container to run."""
        name = self._name(tools)
        if not _SAFE.fullmatch(name) or not self.image or self.image.startswith("-"):
            raise RefusedError(
                "the name of a container, or its image, cannot be one", "RUN_INVALID"
            )
        options = ["--name", name, "--pull", _PULL[self.pull], "--interactive"]
        options += ["--env-file", "environment"]  # so that nothing of it is on a command line
        options += ["--rm"] if self.cleanup == "always" else ["--label", f"onward={self.cleanup}"]
        for host, inside in _texts(self.ports or {}).items():
            options += ["--publish", f"{host}:{inside}"]
        for host, inside in _texts(self.volumes or {}).items():
            options += ["--volume", f"{host}:{inside}"]
        inner = self._arguments()
        if self.container_command:
            inner = _shell(self.container_command, inner)
        script = _ENGINE.replace("NAME", name)
        if self.cleanup == "eventually" and not self.awaited:
            script = script.replace("exec ", "") + self._remove_later(name)
        return Command(
            argv=("/bin/sh", "-c", script, "sh", "run", *options, self.image, *inner),
            undo=("/bin/sh", "-c", _ENGINE_GONE.replace("NAME", name)),
            stdin=_bytes(self.stdin),
            files={"environment": _environment_file(_texts(self.environment or {}))},
        )


_FIND = " || ".join(f"command -v {engine}" for engine in _ENGINES)
_ENGINE = f"""\
engine=$({_FIND}) || {{ echo 'neither docker nor podman is installed here' >&2; exit 127; }}
"$engine" rm --force 'NAME' >/dev/null 2>&1
exec "$engine" "$@"
"""
_ENGINE_GONE = f"""engine=$({_FIND}) && "$engine" rm --force 'NAME'"""
_ENGINE_LATER = f"""\
engine=$({_FIND}) && id=$("$engine" inspect --format '{{{{.Id}}}}' 'NAME') &&
(sleep SECONDS; "$engine" rm --force "$id") </dev/null >/dev/null 2>&1 &
"""


def _shell(command: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Return a shell with a command: arguments come after it, unless it names them itself."""
    if arguments and not _POSITIONAL.search(command):
        command += ' "$@"'
    return ("/bin/sh", "-c", command, "sh", *arguments)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def as_texts(values: Iterable[Any]) -> tuple[str, ...]:
    """Return values as arguments of a process: a value that is no text is written as JSON."""
    return tuple(map(_text, values))


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: _text(value) for name, value in values.items()}


def _environment_file(environment: Mapping[str, str]) -> bytes:
    for name, value in environment.items():
        if not _VARIABLE.fullmatch(name) or "\n" in value:
            raise RefusedError(f"{name!r} cannot be a variable of one line", "RUN_INVALID")
    return "".join(f"{name}={value}\n" for name, value in environment.items()).encode()


def _bytes(value: Any) -> bytes:
    return b"" if value is None else _text(value).encode()


class RunWorkflow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Run another workflow, and wait for its end unless `await` is false."""

    workflow: str
    version: str = "latest"
    input: Any = None
    awaited: bool = msgspec.field(default=True, name="await")

    async def run(self, tools: Tools) -> Succeeded | Failed | Awaits:
        """Start the other run, or find it."""
        try:
            child = await tools.runs.start(
                self.workflow, self.version, self.input, waits=self.awaited
            )
        except OutsideError as problem:
            return failure_of(problem)
        return Awaits(name=f"run:{child}") if self.awaited else Succeeded(None)
