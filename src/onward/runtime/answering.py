"""Waiting for what a run or one of its nodes comes to, to answer whoever caused it."""

from __future__ import annotations

from typing import Any

from onward.kernel.json import decode
from onward.kernel.messages import CompletionMessage, decode_completion
from onward.ports.archive import VisitQuery
from onward.runtime.backend import Backend

HEARTBEAT_S = 5.0


class NoAnswerError(Exception):
    """The run ended without what was waited for."""

    def __init__(self, message: str, code: str) -> None:
        self.code = code
        super().__init__(message)


async def answer_of(backend: Backend, execution_id: str, node_id: str | None) -> Any:
    """Return the output of a run, or of a node as soon as it has one; NoAnswerError when it fails.

    It may take as long as the run: the caller sets the time.
    """
    async for page in backend.feed.follow(execution_id, 0, heartbeat_s=HEARTBEAT_S):
        done = any(
            one.type == "node.succeeded" and one.node_id == node_id for one in page if node_id
        )
        if done:
            break
        if any(one.type == "run.ended" for one in page):
            break
    if node_id:
        return await _of_node(backend, execution_id, node_id)
    return await _of_run(backend, execution_id)


async def _of_node(backend: Backend, execution_id: str, node_id: str) -> Any:
    query = VisitQuery(execution_id=execution_id, limit=1, node_id=node_id, status="success")
    found = await backend.archive.visits(query)
    if not found:
        return await _left_by(backend, execution_id, node_id)
    visit = found[0].run
    if visit.output is not None:
        return decode(visit.output)
    if visit.output_ref is not None:
        body = await backend.archive.payload(execution_id, visit.output_ref.hash)
        return None if body is None else decode(body)
    return None


async def _left_by(backend: Backend, execution_id: str, node_id: str) -> Any:
    """Return what a node left in a run that has ended: its news may come after that of the end."""
    run = await backend.archive.run(execution_id)
    message = decode_completion(run.completion) if run and run.completion else None
    name = f"${node_id}"
    if (
        message is None
        or message.status != "completed"
        or not (name in message.final_context or name in message.context_refs)
    ):
        raise NoAnswerError(f"run {execution_id} ended without {node_id}", "NO_ANSWER")
    return await _entry(backend, execution_id, message, name)


async def _of_run(backend: Backend, execution_id: str) -> Any:
    run = await backend.archive.run(execution_id)
    if run is None or run.completion is None:
        raise NoAnswerError(f"run {execution_id} has no result", "NO_ANSWER")
    message = decode_completion(run.completion)
    if message.status != "completed":
        why = f": {message.error.message}" if message.error else ""
        raise NoAnswerError(f"run {execution_id} is {message.status}{why}", "RUN_FAILED")
    outputs = {
        node: await _entry(backend, execution_id, message, f"${node}")
        for node in message.output_nodes
    }
    return next(iter(outputs.values())) if len(outputs) == 1 else outputs


async def _entry(backend: Backend, execution_id: str, message: CompletionMessage, name: str) -> Any:
    if name in message.final_context:
        return decode(message.final_context[name])
    if name not in message.context_refs:
        return None
    body = await backend.archive.payload(execution_id, message.context_refs[name].hash)
    return None if body is None else decode(body)
