"""Where a run stands inside the tree: a stack of frames and what to do next, as a token carries it.

Values (inputs, loop items, errors, the exported context) are entries of the token's context, each
written once however many frames share it; a large one is stored and goes by reference. What did not
change since the token was read is passed on as the bytes it came in. So a loop over a million items
costs as much in its last message as in its first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Raw

from onward.kernel.context import Context, Payload, Ref
from onward.kernel.json import encode

Kind = (
    Literal["begin", "enter", "complete", "after", "listed", "attempt", "raise", "end"]
    | Literal["hear", "heard", "await", "take", "taken"]
)
"""What is to be done:

    begin      the run starts
    enter      the task `at` begins with the raw input `value`
    complete   the task of the top frame has the raw output `value`
    after      the task `at`, which has no frame any more, has the output `value`
    listed     the tasks inside the top frame are done, with the output `value`
    attempt    the tasks of the try of the top frame begin, again or for the first time
    raise      the error `value` goes up from the top frame
    end        the workflow ends with `value`
    hear       the listen of the top frame waits for its next event
    heard      the event `value` has arrived for the listen of the top frame
    take       the task of the top frame takes messages, or handles what it has taken
    taken      `value` is the result of taking messages
    await      the run that the top frame's task has started will signal its end to `value`
"""


class Action(msgspec.Struct, frozen=True):
    """What is to be done next."""

    kind: Kind
    value: Any = None
    at: str = ""
    then: str = ""
    """Of `after` and `complete`: where the task leads, when that was decided inside it."""


class TaskFrame(msgspec.Struct):
    """A task that has begun and not ended."""

    at: str
    raw: Any
    """Its input as it arrived."""
    input: Any
    """Its input as `input.from` made it."""
    began: int
    index: int = 0
    """Of a loop: which item it is at."""
    items: Any = None
    """Of a loop: all of them."""
    phase: str = ""
    """Of a try: "catch" while it handles an error, "attempt" where the tasks of one attempt are.
    Of any task: "before" and "after" while its extensions run; `index` is then which of them, and
    `error` the output of the task."""
    error: Any = None
    attempt: int = 0
    """Of a try: how often it was retried."""
    since: int = 0
    """Of a try: the time of its first attempt."""
    then: str = ""
    """Of a task whose extensions run after it: where it leads, when it was decided inside it."""
    memo: Any = None
    """Of a listen: which filters are met, what events agree in, and the current event. Of a task
    that takes messages: those still to be handled, and where to continue."""


class WalkState(msgspec.Struct):
    """Everything about one path of a run."""

    action: Action
    frames: list[TaskFrame]
    input: Any
    """The workflow's raw input."""
    context: Any
    """What tasks have exported."""
    variables: dict[str, Any]
    """What loops and catches outside this path's own frames have named."""
    escaping: bool = False
    """The path leaves the scope it is in before the scope is complete: its action is to be done
    outside, and everything else in the scope ends."""


def first_context(raw_input: Raw) -> tuple[Context, Payload | None]:
    """Return the context of a run's first token."""
    return Context().add("$input", raw_input)


class StateStore:
    """Reads the state of one token, and writes the states that follow from it."""

    def __init__(self, context: Context, view: Mapping[str, Any]) -> None:
        self._context = context
        self._names = {
            id(value): f"${name}" for name, value in view.items() if isinstance(value, dict | list)
        }
        self.view = view  # held: an id names an object only while the object lives

    def read(self) -> WalkState:
        """Return the state; a token without one has just started."""
        view = self.view
        written = view.get("state")
        if written is None:
            return WalkState(Action("begin"), [], view.get("input"), None, {})
        kind, at, value, then = written["action"]
        return WalkState(
            Action(kind, view.get(value), at, then),
            [_read_frame(frame, view) for frame in written["frames"]],
            view.get(written["given"]),
            view.get(written["context"]),
            {name: view.get(slot) for name, slot in written["variables"].items()},
            written["escaping"],
        )

    def write(self, state: WalkState) -> tuple[Context, list[Payload]]:
        """Return the context that carries `state`, and what must be stored for it."""
        writer = _Writer(self._context, self._names)
        frames = [_write_frame(frame, writer) for frame in state.frames]
        action = state.action
        written = {
            "action": [action.kind, action.at, writer.slot(action.value), action.then],
            "frames": frames,
            "given": writer.slot(state.input),
            "context": writer.slot(state.context),
            "variables": {name: writer.slot(value) for name, value in state.variables.items()},
            "escaping": state.escaping,
        }
        return writer.finish(written)


_PLAIN = ("at", "began", "index", "phase", "attempt", "since", "then")
_VALUES = {"raw": "raw", "given": "input", "items": "items", "error": "error", "memo": "memo"}
"""The values of a frame: their names in a message, and as attributes."""


def _read_frame(written: dict[str, Any], view: Mapping[str, Any]) -> TaskFrame:
    values = {own: view.get(written[name]) for name, own in _VALUES.items() if name in written}
    plain = {name: written[name] for name in _PLAIN if name in written}
    return TaskFrame(**{"raw": None, "input": None, **values, **plain})


def _write_frame(frame: TaskFrame, writer: _Writer) -> dict[str, Any]:
    plain = {name: value for name in _PLAIN if (value := getattr(frame, name))}
    values = {
        name: writer.slot(value)
        for name, own in _VALUES.items()
        if (value := getattr(frame, own)) is not None
    }
    return {"at": frame.at, "began": frame.began, **plain, **values}


class _Writer:
    """Gives every distinct value a slot."""

    def __init__(self, before: Context, names: Mapping[int, str]) -> None:
        self._before = before
        self._names = names
        self._slots: dict[int, str] = {}
        self._alive: list[Any] = []
        self._inline: dict[str, Raw] = {}
        self._refs: dict[str, Ref] = {}
        self._payloads: list[Payload] = []

    def slot(self, value: Any) -> str:
        """Return the name under which `value` is carried."""
        shared = isinstance(value, dict | list)
        if shared and id(value) in self._slots:
            return self._slots[id(value)]
        slot = f"v{len(self._slots) + len(self._alive)}"
        if shared:
            self._slots[id(value)] = slot
        else:
            self._alive.append(value)
        self._put(f"${slot}", value, self._names.get(id(value), "") if shared else "")
        return slot

    def _put(self, name: str, value: Any, known: str) -> None:
        if known in self._before.inline:
            self._inline[name] = self._before.inline[known]
        elif known in self._before.refs:
            self._refs[name] = self._before.refs[known]
        else:
            entry, payload = Context().add(name, encode(value))
            self._inline |= entry.inline
            self._refs |= entry.refs
            if payload is not None:
                self._payloads.append(payload)

    def finish(self, written: dict[str, Any]) -> tuple[Context, list[Payload]]:
        """Return the whole context, small enough for a message."""
        self._inline["$state"] = encode(written)
        context, payload = Context(self._inline, self._refs).compact()
        if payload is not None:
            self._payloads.append(payload)
        return context, self._payloads
