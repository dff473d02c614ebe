"""Scenarios: Gherkin files, read by the official parser, and what each sentence in them does."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gherkin.parser import Parser
from gherkin.pickles.compiler import Compiler

from conformance.laboratory import Laboratory
from languages.serverless.lab import error_in, output_of
from onward.cli.output.run_result import error_of
from onward.errors import DefinitionError
from onward.kernel.messages import NodeStatusMessage
from onward.languages.document.source import read
from services.fixtures import needed
from support.harness import Ended

FEATURES = Path(__file__).parent / "features"
RUN_ID = "RUN_ID"
"""The word for the id of the run, which nobody chooses."""
HEAD = "document: {dsl: '1.0.3', namespace: test, name: case, version: '1.0.0'}\n"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario of one file."""

    feature: str
    name: str
    steps: tuple[tuple[str, str | None], ...]


def scenarios() -> Iterator[Scenario]:
    """Iterate over every scenario there is."""
    for file in sorted(FEATURES.glob("*.feature")):
        document = Parser().parse(file.read_text())
        document["uri"] = file.name
        seen: Counter[str] = Counter()
        for pickle in Compiler().compile(document):
            name = pickle["name"]
            seen[name] += 1
            rows = len(pickle["astNodeIds"]) > 1
            steps = tuple(
                (step["text"], step.get("argument", {}).get("docString", {}).get("content"))
                for step in pickle["steps"]
            )
            yield Scenario(file.stem, f"{name} ({seen[name]})" if rows else name, steps)


@dataclass(slots=True)
class Stage:
    """What a scenario has done so far."""

    lab: Laboratory
    definition: str = ""
    given: Any = None
    ended: Ended | None = None
    refused: DefinitionError | None = None
    took_ms: int = 0
    words: dict[str, str] = field(default_factory=dict)
    """Words of the definition that stand for what only a stand-in knows, such as its port."""
    closing: list[Callable[[], Awaitable[Any]]] = field(default_factory=list)
    """What ends the stand-ins."""
    more: dict[str, Any] = field(default_factory=dict)
    """What sentences of other modules keep."""

    @property
    def run(self) -> Ended:
        """The run, which must have taken place."""
        assert self.refused is None, f"refused: {self.refused}"
        assert self.ended is not None, "nothing was executed"
        return self.ended

    def known_words(self) -> dict[str, str]:
        """Return what words in blocks stand for, the id of the run included."""
        return self.words if self.ended is None else {**self.words, RUN_ID: self.ended.execution_id}

    def over(self) -> list[NodeStatusMessage]:
        """Return the statuses of tasks that ended, in order."""
        return [status for status in self.run.statuses() if status.status in ("success", "failed")]

    def order(self) -> list[str]:
        """Return the names of the tasks that ended, in order, each once."""
        return list(dict.fromkeys(_name(one.node_id) for one in self.over()))

    def times(self, task: str) -> int:
        """Return how often a task ended."""
        mine = [one for one in self.over() if _name(one.node_id) == task]
        return sum((one.details or {}).get("visits", 1) for one in mine)

    def states(self, task: str) -> list[str]:
        """Return the states a task went through."""
        return [status.status for status in self.run.statuses() if _name(status.node_id) == task]


def _name(pointer: str) -> str:
    return pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")


Step = Callable[..., Awaitable[None]]
STEPS: list[tuple[re.Pattern[str], Step]] = []


def step(pattern: str) -> Callable[[Step], Step]:
    """Say what a sentence does."""

    def add(act: Step) -> Step:
        STEPS.append((re.compile(pattern), act))
        return act

    return add


async def play(scenario: Scenario, lab: Laboratory) -> None:
    """Play a scenario to its end."""
    stage = Stage(lab)
    try:
        for text, block in scenario.steps:
            await _act(stage, text, block)
    finally:
        for close in stage.closing:
            await close()


async def _act(stage: Stage, text: str, block: str | None) -> None:
    found = [(match, act) for pattern, act in STEPS if (match := pattern.fullmatch(text))]
    assert 1 == len(found), f"{len(found)} meanings: {text}"
    match, act = found[0]
    for word, meaning in stage.known_words().items():
        block = block and block.replace(word, meaning)
    await act(stage, *match.groups(), *(() if block is None else (block,)))


def value_of(block: str) -> Any:
    """Return the value that a block of YAML says."""
    return read(block).value


def within(expected: Any, actual: Any) -> bool:
    """Return whether every field that is expected is there, at any depth."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            key in actual and within(one, actual[key]) for key, one in expected.items()
        )
    return bool(expected == actual)


# -- given ---------------------------------------------------------------------------------------


@step("a workflow with definition:")
async def _(stage: Stage, block: str) -> None:
    stage.definition = block


@step("a workflow with tasks:")
async def _(stage: Stage, block: str) -> None:
    stage.definition = HEAD + "do:\n" + "\n".join(f"  {line}" for line in block.splitlines())


@step("a workflow with body:")
async def _(stage: Stage, block: str) -> None:
    stage.definition = HEAD + block


@step("another workflow with definition:")
async def _(stage: Stage, block: str) -> None:
    stage.lab.others.append(block)


@step("the workflow input is:")
async def _(stage: Stage, block: str) -> None:
    stage.given = value_of(block)


@step('the secret "([^"]+)" is:')
async def _(stage: Stage, name: str, block: str) -> None:
    stage.lab.keep_secret(name, value_of(block))


@step("([A-Z]+) (http[^ ]+) answers:")
async def _(stage: Stage, method: str, url: str, block: str) -> None:
    stage.lab.services.answer(method, url, value_of(block))


@step("([A-Z]+) (http[^ ]+) answers in turn:")
async def _(stage: Stage, method: str, url: str, block: str) -> None:
    stage.lab.services.answer(method, url, *value_of(block))


@step("([A-Z]+) (http[^ ]+) never answers")
async def _(stage: Stage, method: str, url: str) -> None:
    stage.lab.services.answer(method, url, "never")


@step("running (shell|script|container|mcp) is allowed")
async def _(stage: Stage, kind: Any) -> None:
    stage.lab.allowed.add(kind)


@step("Node.js is installed")
async def _(stage: Stage) -> None:
    needed("nodejs", "node")


@step("a container engine that prints its arguments")
async def _(stage: Stage) -> None:
    stage.lab.install("docker", '[ "$1" = rm ] || { echo "$@"; cat environment; }')


@step("the dice fall at ([0-9.]+)")
async def _(stage: Stage, fall: str) -> None:
    stage.lab.load_dice(float(fall))


# -- when ----------------------------------------------------------------------------------------


@step("the workflow is executed")
async def _(stage: Stage) -> None:
    await _execute(stage, stage.lab.run(stage.definition, stage.given))


@step("the workflow is executed and these events are published:")
async def _(stage: Stage, block: str) -> None:
    """Publish them one after another, as soon as the run waits for anything."""
    events = value_of(block)
    await _execute(stage, stage.lab.run_with_events(stage.definition, stage.given, events))


@step("the workflow is executed and its worker dies again and again")
async def _(stage: Stage) -> None:
    await _execute(stage, stage.lab.run_among_deaths(stage.definition, stage.given, []))


@step("the workflow is executed, these events are published, and its worker dies again and again:")
async def _(stage: Stage, block: str) -> None:
    events = value_of(block)
    await _execute(stage, stage.lab.run_among_deaths(stage.definition, stage.given, events))


async def _execute(stage: Stage, running: Awaitable[Ended]) -> None:
    began_ms = stage.lab.now_ms()
    try:
        stage.ended = await running
    except DefinitionError as refused:
        stage.refused = refused
    stage.took_ms = stage.lab.now_ms() - began_ms


# -- then ----------------------------------------------------------------------------------------


@step("the workflow should complete")
async def _(stage: Stage) -> None:
    output_of(stage.run)


@step("the workflow should complete with output:")
async def _(stage: Stage, block: str) -> None:
    assert value_of(block) == output_of(stage.run)


@step("the workflow should complete with output containing:")
async def _(stage: Stage, block: str) -> None:
    output = output_of(stage.run)
    assert within(value_of(block), output), output


@step("the exported context should be:")
async def _(stage: Stage, block: str) -> None:
    assert value_of(block) == stage.run.context.get("$context")


@step("the workflow should fault")
async def _(stage: Stage) -> None:
    error_in(stage.run)


@step("the workflow should fault with error:")
async def _(stage: Stage, block: str) -> None:
    error = error_of(stage.run.message)
    assert error is not None, f"it completed with {stage.run.context}"
    found = error.details
    assert within(value_of(block), found), found


@step("the detail of the error should say: (.+)")
async def _(stage: Stage, text: str) -> None:
    assert text in error_in(stage.run).details["detail"]


@step("the workflow should be refused at (/[^ ]*)(?: because: (.+))?")
async def _(stage: Stage, pointer: str, text: str | None) -> None:
    assert stage.refused is not None, f"it ran: {stage.ended and stage.ended.message}"
    there = [problem for problem in stage.refused.problems if problem.pointer == pointer]
    assert there, str(stage.refused)
    said = " ".join(f"{one.message} {one.hint}" for one in there)
    assert (text or "") in said, said


@step("([^ ]+) should run first")
async def _(stage: Stage, task: str) -> None:
    assert task == stage.order()[0]


@step("([^ ]+) should run last")
async def _(stage: Stage, task: str) -> None:
    assert task == stage.order()[-1]


@step("([^ ]+) should run (before|after) ([^ ]+)")
async def _(stage: Stage, task: str, when: str, other: str) -> None:
    order = stage.order()
    assert (order.index(task) < order.index(other)) == (when == "before"), order


@step("([^ ]+) should run (?:once|([0-9]+) times)")
async def _(stage: Stage, task: str, times: str | None) -> None:
    assert int(times or 1) == stage.times(task)


@step("([^ ]+) should not run")
async def _(stage: Stage, task: str) -> None:
    assert [] == [state for state in stage.states(task) if state != "running"]


@step("([^ ]+) should complete")
async def _(stage: Stage, task: str) -> None:
    assert "success" == stage.states(task)[-1]


@step("([^ ]+) should fault")
async def _(stage: Stage, task: str) -> None:
    assert "failed" == stage.states(task)[-1]


@step("([^ ]+) should be cancelled")
async def _(stage: Stage, task: str) -> None:
    states = stage.states(task)
    assert states, f"{task} never began"
    assert not {"success", "failed"} & set(states), states


@step("the run should take ([0-9.]+) seconds")
async def _(stage: Stage, seconds: str) -> None:
    assert round(float(seconds) * 1000) == stage.took_ms


@step("([0-9]+) requests should arrive")
async def _(stage: Stage, count: str) -> None:
    assert int(count) == len(stage.lab.services.requests)


@step("(the last|[0-9]+)(?:st|nd|rd|th)? request should be:")
async def _(stage: Stage, which: str, block: str) -> None:
    request = stage.lab.services.requests[-1 if which == "the last" else int(which) - 1]
    found = {
        "method": request.method,
        "uri": request.url,
        "headers": dict(request.headers),
        "query": [list(pair) for pair in request.query],
        "body": None if request.body is None else request.body.decode(),
    }
    assert within(value_of(block), found), found


@step("these events should have been published:")
async def _(stage: Stage, block: str) -> None:
    expected, found = value_of(block), stage.lab.heard.events
    assert len(expected) == len(found), found
    assert all(map(within, expected, found)), found


@step('"([^"]+)" should be written nowhere')
async def _(stage: Stage, secret: str) -> None:
    assert secret not in repr(stage.run)
    assert [] == await stage.lab.places_of(secret)
