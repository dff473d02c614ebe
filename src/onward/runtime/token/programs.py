"""Programs: each definition is compiled once per process, and found by its content."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from onward.errors import DefinitionError, MessageError
from onward.kernel.lru import Lru
from onward.kernel.messages import Token
from onward.kernel.program import Program
from onward.kernel.records import Definition
from onward.ports.storage.history_store import HistoryStore

MOST_PROGRAMS = 256

CompileDefinition = Callable[[Definition], Program]
ReadDefinition = Callable[[bytes, str], Definition]
"""From the definition inside a message, and the workflow's id, to the definition as stored."""


class Programs:
    """Compiles definitions, and caches the programs that were used last."""

    def __init__(
        self,
        store: HistoryStore,
        compile_definition: CompileDefinition,
        read_definition: ReadDefinition,
    ) -> None:
        self._store = store
        self._compile = compile_definition
        self._read = read_definition
        self._programs: Lru[str, Program] = Lru(MOST_PROGRAMS)

    async def of(self, token: Token) -> tuple[Program, Token]:
        """Return the program of a token, and the token with its definition by reference.

        Raises MessageError when the token's definition is unknown or cannot run: no repetition
        of the message will change that.
        """
        if token.definition_ref:
            return await self._program_of(token.definition_ref), token
        if not isinstance(token.workflow_definition, msgspec.Raw):
            raise MessageError("the message has neither a workflow_definition nor a definition_ref")
        try:
            definition = self._read(bytes(token.workflow_definition), token.workflow_id)
        except DefinitionError as problem:
            raise MessageError(f"the workflow_definition cannot run: {problem}") from None
        if definition.ref not in self._programs:
            await self._store.save_definition(definition)
        program = self._compiled(definition)
        return program, msgspec.structs.replace(
            token, definition_ref=definition.ref, workflow_definition=msgspec.UNSET
        )

    async def _program_of(self, ref: str) -> Program:
        program = self._programs.get(ref)
        if program is not None:
            return program
        definition = await self._store.definition(ref)
        if definition is None:
            raise MessageError(f"no definition has the reference {ref}")
        return self._compiled(definition)

    def _compiled(self, definition: Definition) -> Program:
        program = self._programs.get(definition.ref)
        if program is None:
            try:
                program = self._compile(definition)
            except DefinitionError as problem:
                raise MessageError(f"the workflow_definition cannot run: {problem}") from None
            self._programs.put(definition.ref, program)
        return program
