"""Builtins that loop. None of them grows Python's stack, however often it turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from onward.expressions.navigation import entries
from onward.expressions.operations import compare, is_number, number
from onward.expressions.purejq import describe, items_of, jq_error
from onward.expressions.scope import FunctionName, NativeFunction
from onward.expressions.stream import Argument, Env, Flow, Path, computed_path, is_truthy

Step = tuple[bool, Path, Any]
"""One result of a turn: yield it (True), or continue the loop from it (False)."""

_NOTHING = object()
_MAX_OPEN_TURNS = 10_000
"""How many turns may be unfinished at once: each is a suspended generator."""


def _turn(env: Env, path: Path, value: Any, step: Callable[[Path, Any], Iterator[Step]]) -> Any:
    """Run the loop from `value`, depth first."""
    open_turns = [step(path, value)]
    while open_turns:
        env.meter.spend(1)
        for finished, where, item in open_turns[-1]:
            if finished:
                yield where, item
                continue
            open_turns.append(step(where, item))
            if len(open_turns) > _MAX_OPEN_TURNS:
                env.meter.too_deep(f"its loop leaves more than {_MAX_OPEN_TURNS} turns unfinished")
            break
        else:
            open_turns.pop()


def _until(
    env: Env, path: Path, value: Any, condition: Argument, update: Argument
) -> Iterator[Flow]:
    if condition.once and update.once:
        yield from _until_once(env, path, value, condition, update)
        return

    def step(where: Path, item: Any) -> Iterator[Step]:
        for done in condition.vals(item):
            if is_truthy(done):
                yield True, where, item
                continue
            for there, following in update.flows(where, item):
                yield False, there, following

    yield from _turn(env, path, value, step)


def _until_once(
    env: Env, path: Path, value: Any, condition: Argument, update: Argument
) -> Iterator[Flow]:
    turn: Flow | None = (path, value)
    while turn is not None:
        env.meter.spend(2)
        done = next(condition.vals(turn[1]), _NOTHING)
        if done is _NOTHING:
            return
        if is_truthy(done):
            yield turn
            return
        turn = next(update.flows(*turn), None)


def _while(
    env: Env, path: Path, value: Any, condition: Argument, update: Argument
) -> Iterator[Flow]:
    def step(where: Path, item: Any) -> Iterator[Step]:
        for going in condition.vals(item):
            if is_truthy(going):
                yield True, where, item
                for there, following in update.flows(where, item):
                    yield False, there, following

    if not (condition.once and update.once):
        yield from _turn(env, path, value, step)
        return
    turn = step(path, value)
    while turn:
        env.meter.spend(3)
        for finished, where, item in turn:
            if finished:
                yield where, item
                continue
            turn = step(where, item)
            break
        else:
            return


def _repeat(env: Env, path: Path, value: Any, body: Argument) -> Iterator[Flow]:
    while True:
        env.meter.spend(1)
        yield from body.flows(path, value)


def _recurse(env: Env, path: Path, value: Any, *arguments: Argument) -> Iterator[Flow]:
    def step(where: Path, item: Any) -> Iterator[Step]:
        yield True, where, item
        for there, following in arguments[0].flows(where, item):
            if len(arguments) == 1:
                yield False, there, following
                continue
            for wanted in arguments[1].vals(following):
                if is_truthy(wanted):
                    yield False, there, following

    yield from _turn(env, path, value, step)


def _range(env: Env, path: Path, value: Any, *arguments: Argument) -> Iterator[Flow]:
    bounds = arguments if len(arguments) > 1 else (None, *arguments)
    start, end, step = (*bounds, None) if len(bounds) == 2 else bounds
    for first in start.vals(value) if start else (0,):
        assert end is not None  # noqa: S101  (every form of range has an end)
        for last in end.vals(value):
            for by in step.vals(value) if step else (1,):
                yield from _count(env, computed_path(path), first, last, by)


def _count(env: Env, path: Path, first: Any, last: Any, by: Any) -> Iterator[Flow]:
    if not (is_number(first) and is_number(last) and is_number(by)):
        raise jq_error("Range bounds must be numeric")
    if by == 0:
        return
    at = first
    while (at < last) if by > 0 else (at > last):
        env.meter.spend(1)
        yield path, at
        at = number(at + by)


def _limit(env: Env, path: Path, value: Any, count: Argument, body: Argument) -> Iterator[Flow]:
    for most in count.vals(value):
        left = _whole(most, "limit doesn't support negative count")
        if left == 0:
            continue
        for flow in body.flows(path, value):
            yield flow
            left -= 1
            if left <= 0:
                break


def _skip(env: Env, path: Path, value: Any, count: Argument, body: Argument) -> Iterator[Flow]:
    for least in count.vals(value):
        left = _whole(least, "skip doesn't support negative count")
        for flow in body.flows(path, value):
            left -= 1
            if left < 0:
                yield flow


def _nth(env: Env, path: Path, value: Any, count: Argument, body: Argument) -> Iterator[Flow]:
    for at in count.vals(value):
        left = _whole(at, "nth doesn't support negative indices")
        for flow in body.flows(path, value):
            left -= 1
            if left < 0:
                yield flow
                break


def _whole(count: Any, negative: str) -> float:
    if not is_number(count):
        raise jq_error("a count must be a number")
    if count < 0:
        raise jq_error(negative)
    return float(count)


def _first(env: Env, path: Path, value: Any, body: Argument) -> Iterator[Flow]:
    for flow in body.flows(path, value):
        yield flow
        return


def _last(env: Env, path: Path, value: Any, body: Argument) -> Iterator[Flow]:
    last: Flow | None = None
    for flow in body.flows(path, value):
        last = flow
    if last is not None:
        yield last


def _is_empty(env: Env, path: Path, value: Any, body: Argument) -> Iterator[Flow]:
    yield computed_path(path), next(body.vals(value), _NOTHING) is _NOTHING


def _decide(deciding: bool) -> Callable[..., Iterator[Flow]]:
    """Return `any` (deciding True) or `all` (deciding False) over a generator or the input."""

    def run(env: Env, path: Path, value: Any, *arguments: Argument) -> Iterator[Flow]:
        items = arguments[0].vals(value) if len(arguments) == 2 else items_of(value)
        for item in items:
            env.meter.spend(1)
            verdicts = arguments[-1].vals(item) if arguments else (item,)
            if any(is_truthy(verdict) is deciding for verdict in verdicts):
                yield computed_path(path), deciding
                return
        yield computed_path(path), not deciding

    return run


def _walk(env: Env, path: Path, value: Any, body: Argument) -> Iterator[Flow]:
    """Apply `body` to everything inside, innermost first, and at last to the whole."""
    rebuilt = _rebuild(env, value, body) if isinstance(value, list | dict) else value
    for result in body.vals(rebuilt):
        yield computed_path(path), result


def _rebuild(env: Env, value: Any, body: Argument) -> Any:
    """Return the container with what `body` makes of each part; nothing drops the part."""
    open_parts = [_OpenPart(None, entries(value), type(value)())]
    while True:
        part = open_parts[-1]
        for key, item in part.left:
            env.meter.spend(1)
            if isinstance(item, list | dict):
                open_parts.append(_OpenPart(key, entries(item), type(item)()))
                break
            _put(env, part.rebuilt, key, body.vals(item))
        else:
            open_parts.pop()
            env.meter.admit(part.rebuilt)
            if not open_parts:
                return part.rebuilt
            _put(env, open_parts[-1].rebuilt, part.key, body.vals(part.rebuilt))


class _OpenPart(NamedTuple):
    """A container on the way down: its key in the one above, and what is left to rebuild."""

    key: Any
    left: Iterator[tuple[Any, Any]]
    rebuilt: Any


def _put(env: Env, container: Any, key: Any, results: Iterator[Any]) -> None:
    """Put results in place of a part: an array takes them all, an object's key the first."""
    for result in results:
        env.meter.spend(1)
        if isinstance(container, dict):
            container[key] = result
            return
        container.append(result)


def _binary_search(env: Env, path: Path, value: Any, wanted: Argument) -> Iterator[Flow]:
    if not isinstance(value, list):
        raise jq_error(f"{describe(value)} cannot be searched from")
    for target in wanted.vals(value):
        low, high, found = 0, len(value), -1
        while low < high:
            middle = (low + high) // 2
            order = compare(env.meter, value[middle], target)
            if order == 0:
                found = middle
                break
            low, high = (middle + 1, high) if order < 0 else (low, middle)
        yield computed_path(path), found if found >= 0 else -1 - low


LOOPS: dict[FunctionName, NativeFunction] = {
    ("all", 0): NativeFunction(_decide(False), once=True),
    ("all", 1): NativeFunction(_decide(False), once=True),
    ("all", 2): NativeFunction(_decide(False), once=True),
    ("any", 0): NativeFunction(_decide(True), once=True),
    ("any", 1): NativeFunction(_decide(True), once=True),
    ("any", 2): NativeFunction(_decide(True), once=True),
    ("bsearch", 1): NativeFunction(_binary_search, once=True),
    ("first", 1): NativeFunction(_first, once=True),
    ("isempty", 1): NativeFunction(_is_empty, once=True),
    ("last", 1): NativeFunction(_last, once=True),
    ("limit", 2): NativeFunction(_limit),
    ("nth", 2): NativeFunction(_nth, once=True),
    ("range", 1): NativeFunction(_range),
    ("range", 2): NativeFunction(_range),
    ("range", 3): NativeFunction(_range),
    ("recurse", 1): NativeFunction(_recurse),
    ("recurse", 2): NativeFunction(_recurse),
    ("repeat", 1): NativeFunction(_repeat),
    ("skip", 2): NativeFunction(_skip),
    ("until", 2): NativeFunction(_until, once=True),
    ("walk", 1): NativeFunction(_walk),
    ("while", 2): NativeFunction(_while),
}
