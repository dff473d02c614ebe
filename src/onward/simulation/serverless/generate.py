"""Random documents of the Serverless Workflow DSL, one per seed.

Data has the same shape everywhere: `n`, a number that grows, and `t`, the trace of what was done.
So a task that is skipped, doubled or done in another order shows in the output. Waits and limits
have odd lengths, so that it is nearly always clear which ends first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from onward.simulation.serverless.plan import ENDPOINT, NAMESPACE, PublishedEvent, TreePlan
from onward.simulation.serverless.variables import STANDARD

Body = dict[str, Any]
Tasks = list[dict[str, Body]]
Kinds = Sequence[tuple[int, Callable[[str, int], Body]]]
MAX_DEPTH = 4
FLAT_KINDS = 8
"""How many of the kinds of tasks hold no others."""
LONG_LOOP_PASSES = 620
"""Passes of a loop that one message cannot hold."""
DOCUMENT_HEAD = {"dsl": "1.0.3", "namespace": NAMESPACE, "name": "tree", "version": "1.0.0"}
RAISED_ERRORS = (
    (STANDARD + "runtime", 500),
    (STANDARD + "communication", 503),
    (STANDARD + "validation", 400),
    ("https://example.com/mine", 418),
)
FAILURE_STATUSES = (503, 500, 404)


class _Builder:
    def __init__(self, seed: str) -> None:
        self.dice = Random(seed)  # noqa: S311  (a simulation wants a reproducible generator)
        self.count = 0
        self.timeless = self.chance(0.3)
        """Whether nothing depends on what is first: then a run may even be repaired meanwhile."""
        self.names: list[str] = []
        """The index variables of the loops around the current task."""
        self.caught: list[str] = []
        self.guarded = 0
        """How many `try` tasks are around the current task: outside of all of them little fails."""
        self.listening = False
        self.failures: dict[str, dict[int, int]] = {}
        self.lengths: dict[str, int] = {}
        self.events: list[PublishedEvent] = []
        self.functions: dict[str, Body] = {}

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def length(self, most_s: int = 9) -> dict[str, int]:
        return {"milliseconds": self.dice.randint(1, most_s * 1000)}

    def mark(self, name: str) -> str:
        """Return an expression that leaves a trace, also of the variables it sees."""
        seen = f'"{name}"'
        if self.names and self.chance(0.5):
            seen = f'"{name}:\\(${self.dice.choice(self.names)})"'
        elif self.caught and self.chance(0.6):
            error = self.dice.choice(self.caught)
            seen = f'"{name}:\\(${error}.status)\\(${error}.instance)"'
        elif self.chance(0.15):
            seen = f'"{name}:\\($context | length)"'
        elif self.chance(0.1):
            seen = "$task.reference"
        return f"${{ {{n: (.n + {self.dice.randint(1, 3)}), t: (.t + [{seen}])}} }}"

    # -- lists ---------------------------------------------------------------------------------

    def block(self, depth: int, least: int = 1, most: int = 4) -> Tasks:
        """Return some tasks, of which some continue with another than the next."""
        tasks = [self.task(depth) for _ in range(self.dice.randint(least, most))]
        names = [next(iter(task)) for task in tasks]
        for at, task in enumerate(tasks):
            body = task[names[at]]
            if "switch" in body:
                for case in body["switch"]:
                    next(iter(case.values()))["then"] = self.way(names, at)
            if self.chance(0.06):
                body["then"] = self.way(names, at)
            if "catch" in body and self.chance(0.1):
                body["catch"]["then"] = self.way(names, at)
        if len(tasks) > 1 and self.chance(0.1):
            back = self.name("back")
            bound = self.dice.randint(5, 25)
            again = {"when": f".n < {bound}", "then": self.dice.choice(names)}
            tasks.append({back: {"switch": [{"again": again}]}})
        return tasks

    def way(self, names: list[str], at: int) -> str:
        later = names[at + 1 :]
        ways = ["continue", *later, *later, "exit"]
        return "end" if self.chance(0.05) else self.dice.choice(ways)

    def task(self, depth: int) -> dict[str, Body]:
        kinds: Kinds = (
            (22, self.step),
            (18, self.call),
            (4, self.under),
            (8, self.choice),
            (6, self.wait),
            (3, self.fault),
            (1, self.broken),
            (2, self.function),
            (6, self.do),
            (11, self.loop),
            (14, self.attempt),
            (11, self.fork),
            (1, self.long_loop),
            (6, self.race),
            (4, self.listen),
            (4, self.talk),
        )
        usable = kinds[:-3] if self.timeless else kinds
        usable = usable if depth < MAX_DEPTH else kinds[:FLAT_KINDS]
        (build,) = self.dice.choices([kind for _, kind in usable], [share for share, _ in usable])
        name = self.name(build.__name__[0])
        return {name: self.with_common_parts(build(name, depth + 1), name)}

    def with_common_parts(self, body: Body, name: str) -> Body:
        """Add the parts that every task may have."""
        if self.chance(0.08):
            body["if"] = self.dice.choice([".n % 2 == 0", ".n % 3 != 0", ".t | length < 6"])
        if self.chance(0.1):
            body["export"] = {"as": f'($context // []) + ["{name}"]'}
        if "input" not in body and self.chance(0.06):
            body["input"] = {"from": '{n: (.n + 1), t: (.t + ["from"])}'}
        if "output" not in body and self.chance(0.06):
            body["output"] = {"as": '{n: .n, t: (.t + ["as\\($input.n)"])}'}
        if self.chance(0.03 if self.guarded else 0.005):
            limit = self.dice.randint(3, 40)
            schema = {"document": {"type": "object", "properties": {"n": {"maximum": limit}}}}
            body.setdefault("input", {})["schema"] = schema
        lasting = {"do", "for", "try", "fork", "listen", "wait"} & body.keys()
        if lasting and not self.timeless and self.chance(0.14 if self.guarded else 0.04):
            body["timeout"] = {"after": self.length(15)}
        return body

    # -- tasks ---------------------------------------------------------------------------------

    def step(self, name: str, depth: int) -> Body:
        return {"set": self.mark(name)}

    def call(self, name: str, depth: int) -> Body:
        share = self.dice.choice([0, 0, 0.2, 0.5, 0.9] if self.guarded else [0, 0, 0, 0, 0.2])
        failing = {n: self.dice.choice(FAILURE_STATUSES) for n in range(1, 7) if self.chance(share)}
        self.failures[name] = failing
        given = {"method": "post", "endpoint": ENDPOINT + name, "body": "${ . }"}
        return {"call": "http", "with": given}

    def under(self, name: str, depth: int) -> Body:
        """Return another workflow that is run, which takes some time."""
        self.call(name, depth)
        self.lengths[name] = self.dice.randint(1, 5_000)
        what = {"namespace": NAMESPACE, "name": name, "version": "1.0.0", "input": "${ . }"}
        return {"run": {"workflow": what}}

    def choice(self, name: str, depth: int) -> Body:
        tests = (".n % 2 == 0", ".n > 9", ".t | length > 4", "false")
        cases = [{f"c{i}": {"when": self.dice.choice(tests)}} for i in range(2)]
        if self.chance(0.5):
            cases.insert(self.dice.randrange(3), {"otherwise": {}})
        return {"switch": cases}

    def wait(self, name: str, depth: int) -> Body:
        if self.chance(0.2):
            return {"wait": "${ {milliseconds: (.n * 37)} }"}
        return {"wait": self.length()}

    def fault(self, name: str, depth: int) -> Body:
        if not self.guarded and self.chance(0.7):
            return self.step(name, depth)
        type_, status = self.dice.choice(RAISED_ERRORS)
        return {"raise": {"error": {"type": type_, "status": status}}}

    def broken(self, name: str, depth: int) -> Body:
        if not self.guarded and self.chance(0.7):
            return self.step(name, depth)
        return {"set": "${ .t.missing }"}

    def function(self, name: str, depth: int) -> Body:
        if not self.functions:
            around = self.names, self.caught
            self.names, self.caught = [], []
            inner: Tasks = [{"f1": {"set": self.mark("f1")}}, {"f2": {"wait": self.length(3)}}]
            self.functions["helper"] = {"do": [*inner, {"f3": {"set": self.mark("f3")}}]}
            self.names, self.caught = around
        return {"call": "helper", "with": {"n": "${ .n }", "t": "${ .t }"}}

    def do(self, name: str, depth: int) -> Body:
        return {"do": self.block(depth)}

    def loop(self, name: str, depth: int) -> Body:
        each, index = (f"{word}{self.count}" for word in ("each", "at"))
        items = self.dice.choice(["[1, 2, 3]", "[range(.n % 4)]", "[]", '[.t[], "x"][:2]'])
        self.names.append(index)
        body: Body = {"for": {"in": items, "each": each, "at": index}, "do": self.block(depth)}
        if self.chance(0.3):
            body["while"] = self.dice.choice([f"${index} < 2", ".n < 15", f"${each} != 3"])
        self.names.pop()
        return body

    def long_loop(self, name: str, depth: int) -> Body:
        more = {"more": {"set": "${ {n: (.n + 1), t: .t} }"}}
        return {"for": {"in": f"[range({LONG_LOOP_PASSES})]"}, "do": [more]}

    def attempt(self, name: str, depth: int) -> Body:
        self.guarded += 1
        tasks = self.block(depth)
        if self.chance(0.7):
            tasks.append(self.named_call())
        if self.chance(0.15):
            tasks.append({(raised := self.name("r")): self.fault(raised, depth)})
        self.guarded -= 1
        return {"try": tasks, "catch": self.catch(depth)}

    def named_call(self) -> dict[str, Body]:
        name = self.name("c")
        return {name: self.call(name, 0)}

    def catch(self, depth: int) -> Body:
        body: Body = {}
        if self.chance(0.3):
            type_, status = self.dice.choice(RAISED_ERRORS)
            wanted = self.dice.choice([{"type": type_}, {"status": status}])
            body["errors"] = {"with": wanted}
        if self.chance(0.2):
            word = self.dice.choice(["when", "exceptWhen"])
            body[word] = self.dice.choice([".status >= 500", "$error.status == 418"])
        if self.chance(0.6):
            body["retry"] = self.retry()
        if self.chance(0.5):
            self.caught.append("error")
            body["do"] = self.block(depth, most=2)
            self.caught.pop()
        return body

    def retry(self) -> Body:
        limit: Body = {"attempt": {"count": self.dice.randint(0, 4)}}
        retry: Body = {"delay": self.length(3), "limit": limit}
        if self.chance(0.6):
            retry["backoff"] = {self.dice.choice(["constant", "linear", "exponential"]): {}}
        if self.chance(0.2):
            retry["jitter"] = {"from": self.length(1), "to": {"seconds": 2}}
        if self.chance(0.15):
            retry["when"] = ".status != 404"
        if not self.timeless and self.chance(0.15):
            limit["attempt"]["duration"] = self.length(9)
        if not self.timeless and self.chance(0.1):
            limit["duration"] = self.length(12)
        return retry

    # -- branches ------------------------------------------------------------------------------

    def branch(self, depth: int) -> dict[str, Body]:
        """Return a branch that nearly always begins at a time of its own."""
        name = self.name("b")
        tasks = self.block(depth, most=3)
        if self.chance(0.9):
            tasks.insert(0, {f"{name}w": {"wait": self.length()}})
        return {name: {"do": tasks}}

    def fork(self, name: str, depth: int) -> Body:
        branches = [self.branch(depth) for _ in range(self.dice.randint(1, 3))]
        return self.join(branches)

    def join(self, branches: Tasks) -> Body:
        return {
            "fork": {"branches": branches},
            "input": {"from": "{n: .n, t: []}"},
            "output": {"as": "{n: (map(.n) | add), t: ($task.input.t + (map(.t) | add))}"},
        }

    def race(self, name: str, depth: int) -> Body:
        branches = [self.branch(depth) for _ in range(self.dice.randint(2, 3))]
        return {"fork": {"branches": branches, "compete": True}}

    # -- events --------------------------------------------------------------------------------

    def listen(self, name: str, depth: int) -> Body:
        """Return a wait for events from outside; some come early, some late, some twice."""
        body, types = self.listen_task(name, depth)
        for type_ in types:
            for number in range(self.dice.randint(1, 4)):
                at_ms = self.dice.randint(0, 20_000)
                again = at_ms + self.dice.randint(0, 9_000) if self.chance(0.4) else None
                self.events.append(PublishedEvent(at_ms, type_, {"v": f"{type_}.{number}"}, again))
        return body

    def listen_task(self, name: str, depth: int) -> tuple[Body, list[str]]:
        self.listening = True
        types = [f"{name}.{letter}" for letter in "ab"[: self.dice.randint(1, 2)]]
        filters: list[Any] = [{"with": {"type": type_}} for type_ in types]
        wanted: Body = self.dice.choice(
            [
                {"one": filters[0]},
                {"all": filters},
                {"any": filters},
                {"any": filters, "until": f"length >= {self.dice.randint(1, 2)}"},
                {"any": filters[:1], "until": {"one": filters[-1]}} if len(types) > 1 else {},
            ]
        ) or {"one": filters[0]}
        heard = '{n: ($input.n + length), t: ($input.t + ["heard"] + map(.v))}'
        body: Body = {"listen": {"to": wanted}, "output": {"as": heard}}
        if self.chance(0.4):
            item = f"item{self.count}"
            first = {f"{name}i": {"set": f"${{ {{n: 1, t: [${item}.v]}} }}"}}
            inner = self.block(depth + 1, most=2)
            body["foreach"] = {
                "item": item,
                "do": [first, *inner],
                "output": {"as": '{v: (.t | join("+"))}'},
            }
        return body, types

    def talk(self, name: str, depth: int) -> Body:
        """Return a fork of which some branches emit events and another one listens."""
        listener, types = self.listen_task(name, depth)
        branches = [self.emitter(type_) for type_ in types for _ in range(self.dice.randint(1, 2))]
        listening = self.name("b")
        tasks: Tasks = [{self.name("h"): listener}]
        if self.chance(0.5):
            tasks.insert(0, {f"{listening}w": {"wait": self.length()}})
        return self.join([*branches, {listening: {"do": tasks}}])

    def emitter(self, type_: str) -> dict[str, Body]:
        name = self.name("b")
        event = {"type": type_, "data": {"v": f"{name}"}}
        emit = {"emit": {"event": {"with": event}}, "output": {"as": "$input"}}
        tasks: Tasks = [{f"{name}w": {"wait": self.length()}}, {f"{name}e": emit}]
        return {name: {"do": tasks}}


def generate_tree(seed: int, number: int = 0) -> TreePlan:
    """Return plan `number` of a seed: there are others, in case the first is endless."""
    builder = _Builder(f"{seed}.{number}")
    document: dict[str, Any] = {"document": DOCUMENT_HEAD, "do": builder.block(0, least=2, most=5)}
    if builder.functions:
        document["use"] = {"functions": builder.functions}
    if not builder.timeless and builder.chance(0.06):
        document["timeout"] = {"after": builder.length(40)}
    if builder.chance(0.1):
        document["output"] = {"as": "{n: .n, t: .t, c: $context}"}
    # A retried call may lead to one more wait for an event, and there are only as many as needed.
    fickle = builder.chance(0.1) and not builder.listening
    return TreePlan(
        document, builder.failures, builder.lengths, tuple(builder.events), fickle=fickle
    )
