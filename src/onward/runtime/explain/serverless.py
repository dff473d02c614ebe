"""What a run of the Serverless Workflow DSL waits for, in the words of its document.

A token of such a run says itself where it stands: the task it is at is a JSON pointer, and the
state that it carries says what is to be done next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from onward.kernel.messages import Token
from onward.kernel.outcome import NodeError
from onward.kernel.records import VisitRecord
from onward.ports.cluster.inspection import Barrier


class ForkShape(msgspec.Struct, frozen=True):
    """A fork of the document: its branches by name, and whether the first of them wins."""

    branches: tuple[str, ...]
    compete: bool


class DocumentShape(msgspec.Struct, frozen=True):
    """What must be known about a document to say what its runs wait for."""

    forks: Mapping[str, ForkShape] = {}
    heard: Mapping[str, tuple[str, ...]] = {}
    """Listen -> the types of events that it can want; "" is any."""


def fork_of(barrier: Barrier, tree: DocumentShape) -> dict[str, Any] | None:
    """Return what is waited for at a fork; None: what was opened there is no fork.

    A task with a time limit is opened like one: that it is waited for is said by its limit.
    """
    state = _state(barrier.origin)
    frames = state.get("frames") or [{}]
    at = frames[-1].get("at", "")
    fork = tree.forks.get(at)
    if fork is None or state.get("action", [""])[0] != "complete":
        return None
    done, total = len(barrier.slots), len(fork.branches)
    open_ = [index for index in range(total) if index not in barrier.slots]
    names = ", ".join(fork.branches[index] for index in open_)
    word = "branch" if len(open_) == 1 else "branches"
    text = f"waits for {word} {names} of fork {at}, {done} of {total} ended"
    if fork.compete:
        text = f"waits for the first of {total} branches of fork {at}: {names}"
    missing = tuple(f"{at}/fork/branches/{index}/{fork.branches[index]}" for index in open_)
    return {"text": text, "node": at, "done": done, "total": total, "missing": missing}


def timer_of(token: Token, at: str, history: Sequence[VisitRecord]) -> str:
    """Return what a timer of such a run is for; `at` is when it is due."""
    if token.signal == "timeout":
        what = f"{token.current_node} is" if token.from_edge else "the workflow is"
        return f"{what} given up at {at} if it has not ended by then"
    state = _state(token)
    if state.get("action", [""])[0] != "attempt":
        return f"{token.current_node} waits until {at}"
    number = (state.get("frames") or [{}])[-1].get("attempt", 1)
    text = f"{token.current_node} is tried again at {at}, retry {number}"
    parents = (visit for visit in history if visit.token_id == token.parent)
    failed = next((visit for visit in parents if visit.error is not None), None)
    if failed is not None:
        error = msgspec.json.decode(failed.error or b"", type=NodeError)
        text += f", after {failed.node_id} failed: {error.message} [{error.code}]"
    return text


def listen_of(at: str, tree: DocumentShape) -> str:
    """Return what a listen waits for."""
    types = [kind for kind in tree.heard.get(at, ()) if kind]
    what = f"events of type {' or '.join(types)}" if types else "events"
    return f"{at} listens for {what}, and none that it wants has come yet"


def _state(token: Token) -> dict[str, Any]:
    """Return the state that a token carries; nothing when it is stored elsewhere."""
    raw = token.accumulated_context.get("$state")
    found = msgspec.json.decode(raw) if raw is not None else {}
    return found if isinstance(found, dict) else {}
