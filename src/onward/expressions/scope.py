"""The names an expression sees while it is compiled, and those it needs from its caller."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from onward.expressions.purejq import Tree
from onward.expressions.stream import Filter, Flow, Key

FunctionName = tuple[str, int]
"""A function is known by its name and its number of parameters."""

Native = Callable[..., Iterator[Flow]]
"""A function written in Python: (env, path, value, *arguments) to flows."""

Compiler = Callable[[Tree, "NameScope"], Filter]
"""Compiles one kind of node."""


@dataclass(slots=True)
class JqFunction:
    """A function written in jq. The body comes last: it may call the function itself."""

    parameters: tuple[tuple[bool, Key], ...]
    """For each: whether it takes values (`$x`) rather than a filter, and its key."""
    levels: int
    """How many levels of evaluation one call adds, at most."""
    body: Filter | None = None


@dataclass(frozen=True, slots=True)
class NativeFunction:
    """A builtin written in Python. `once`: it yields once if its arguments do."""

    run: Native
    once: bool = False


@dataclass(frozen=True, slots=True)
class FilterParameter:
    """A filter parameter, called by its name inside the function's body."""

    key: Key


@dataclass(frozen=True, slots=True)
class ValueParameter:
    """A `$value` parameter, which can also be called as a function."""

    key: Key


Function = JqFunction | NativeFunction | FilterParameter | ValueParameter


@dataclass(slots=True)
class RequiredNames:
    """The names an expression needs from its caller, collected while it is compiled."""

    names: set[str] = field(default_factory=set)
    nodes: set[str] = field(default_factory=set)
    all_nodes: bool = False


@dataclass(frozen=True, slots=True)
class NameScope:
    """The names in sight. Adding one makes a new scope."""

    compilers: Mapping[str, Compiler]
    functions: Mapping[FunctionName, Function]
    found: RequiredNames = field(default_factory=RequiredNames)
    variables: Mapping[str, Key] = field(default_factory=dict)
    labels: Mapping[str, Key] = field(default_factory=dict)
    keys: Iterator[int] = field(default_factory=itertools.count)

    def compile(self, tree: Tree) -> Filter:
        """Return the filter that `tree` describes; raises ExpressionError for unknown names."""
        return self.compilers[tree[0]](tree, self)

    def with_variables(self, names: Sequence[str]) -> NameScope:
        """Return this scope with a fresh key for each of `names`."""
        fresh = {name: next(self.keys) for name in names}
        return replace(self, variables={**self.variables, **fresh})

    def with_label(self, name: str) -> NameScope:
        """Return this scope with a fresh label."""
        return replace(self, labels={**self.labels, name: next(self.keys)})

    def with_functions(self, functions: Mapping[FunctionName, Function]) -> NameScope:
        """Return this scope with more functions, which hide others of their name."""
        return replace(self, functions={**self.functions, **functions})
