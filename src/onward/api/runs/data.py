"""The route of the values of a run: stored, of its final context, or the output of a visit."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import Meta

from onward.api.routing.lookups import known_run
from onward.api.routing.parameters import FARTHEST, RunId, read_choice
from onward.api.routing.routes import Reply, Routes, json_reply
from onward.api.runs.value_pages import part_of
from onward.api.runs.views import DataView
from onward.errors import NotThereError
from onward.kernel.json import decode
from onward.kernel.messages import decode_completion
from onward.runtime.backend import Backend


def data_routes(backend: Backend) -> Routes:
    """Return the route of the values of a run."""
    routes = Routes(tags=["runs"])

    @routes.get(
        "/runs/{execution_id}/data",
        summary="Read a value of a run",
        view=DataView,
    )
    async def get_data(
        execution_id: RunId,
        ref: Annotated[
            Annotated[str, Meta(max_length=128)] | None,
            Meta(description="A stored value, by its hash."),
        ] = None,
        token_id: Annotated[
            Annotated[str, Meta(max_length=256)] | None,
            Meta(description="The output of this visit."),
        ] = None,
        node_id: Annotated[
            str, Meta(max_length=1024, description="The visit's node, with token_id.")
        ] = "",
        entry: Annotated[
            Annotated[str, Meta(max_length=1024)] | None,
            Meta(description="A value of the final context."),
        ] = None,
        pointer: Annotated[
            str, Meta(max_length=8192, description="A JSON pointer to the part.")
        ] = "",
        offset: Annotated[int, Meta(ge=0, le=FARTHEST, description="Members to skip.")] = 0,
        limit: Annotated[int, Meta(ge=1, le=1000, description="Members at most.")] = 100,
    ) -> Reply:
        """A value or a part of it, a page at a time. A member too large for a page is null."""
        which = read_choice(ref=ref, token_id=token_id, entry=entry)
        await known_run(backend, execution_id)
        values = RunValues(backend, execution_id)
        if which == "ref":
            raw = await values.stored(ref or "")
        elif which == "entry":
            raw = await values.entry(entry or "")
        else:
            raw = await values.output(token_id or "", node_id)
        view = await asyncio.to_thread(lambda: part_of(decode(raw), pointer, offset, limit))
        return json_reply(view)

    return routes


class RunValues:
    """Finds values of one run."""

    def __init__(self, backend: Backend, execution_id: str) -> None:
        self._archive = backend.archive
        self._run_id = execution_id

    async def stored(self, content: str) -> bytes:
        """Return a stored value."""
        body = await self._archive.payload(self._run_id, content)
        if body is None:
            raise NotThereError(f"run {self._run_id} has no stored value {content[:80]!r}")
        return body

    async def entry(self, name: str) -> bytes:
        """Return a value of the final context."""
        run = await self._archive.run(self._run_id)
        message = decode_completion(run.completion) if run and run.completion else None
        name = name if name.startswith("$") else f"${name}"
        if message is None:
            raise NotThereError(f"run {self._run_id} has not ended: it has no final context yet")
        if name in message.final_context:
            return bytes(message.final_context[name])
        if name in message.context_refs:
            return await self.stored(message.context_refs[name].hash)
        raise NotThereError(f"the final context of {self._run_id} has no {name[:80]}")

    async def output(self, token_id: str, node_id: str) -> bytes:
        """Return the output of a visit."""
        visit = await self._archive.output(self._run_id, token_id, node_id)
        if visit is None:
            raise NotThereError(f"run {self._run_id} has no such visit: give token_id and node_id")
        if visit.output_ref is not None:
            return await self.stored(visit.output_ref.hash)
        return bytes(visit.output) if visit.output is not None else b"null"
