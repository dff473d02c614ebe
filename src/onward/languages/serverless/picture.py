"""A workflow as a graph, to be drawn and watched: tasks are nodes, what follows what are edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onward.languages.document.problems import Place, find_place
from onward.languages.graph.model import Document, EdgeDocument, NodeDocument
from onward.languages.serverless.model import (
    CallTask,
    ForkTask,
    RaiseTask,
    ServerlessWorkflow,
    SwitchTask,
    Task,
    TaskList,
    TryTask,
    lists_of,
)


def picture_of(workflow: ServerlessWorkflow) -> Document:
    """Return the graph of a workflow. Its nodes are called by the pointers of their tasks."""
    tasks = [task for at, task in workflow.tasks.items() if at]
    nodes = tuple(NodeDocument(task.at, _kind(task), task.name) for task in tasks)
    edges = dict.fromkeys(_edges(workflow, workflow.root.tasks))
    return Document(
        id=workflow.id,
        name=workflow.title or workflow.name,
        nodes=nodes,
        edges=tuple(
            EdgeDocument(f"e{index}", src, dst, "error" if kind else "success")
            for index, (src, dst, kind) in enumerate(edges)
        ),
        source=workflow.source,
        places=_places(workflow.places, tasks),
    )


def _kind(task: Task) -> str:
    return f"call {task.function}" if isinstance(task, CallTask) else task.kind


def _places(places: Mapping[str, Place], tasks: list[Task]) -> dict[str, Place]:
    found = {}
    for index, task in enumerate(tasks):
        place = find_place(places, task.at)
        if place is not None:
            found[f"/nodes/{index}"] = place
    return found


PictureEdge = tuple[str, str, bool]


def _edges(workflow: ServerlessWorkflow, tasks: TaskList) -> Iterator[PictureEdge]:
    """Yield what leads to what in a list: into tasks, through them, and out of their last ones."""
    for task in tasks:
        yield from _inner(workflow, task)
        for then in _leads(task):
            beside = workflow.beside.get(task.at, {})
            aim = workflow.following.get(task.at) if then == "continue" else beside.get(then)
            if aim is not None and _forward(task.at, aim, workflow):
                yield from ((end, aim, False) for end in _ends(task))


def _forward(src: str, dst: str, workflow: ServerlessWorkflow) -> bool:
    """A picture has no cycles: a jump back is not drawn."""
    order = list(workflow.beside[src].values())
    return order.index(src) < order.index(dst)


def _inner(workflow: ServerlessWorkflow, task: Task) -> Iterator[PictureEdge]:
    if isinstance(task, ForkTask):
        for branch in task.branches:
            yield task.at, branch.at, False
            yield from _inner(workflow, branch)
        return
    for index, tasks in enumerate(lists_of(task)):
        if tasks:
            yield task.at, tasks[0].at, isinstance(task, TryTask) and index == 1
            yield from _edges(workflow, tasks)


def _leads(task: Task) -> tuple[str, ...]:
    if isinstance(task, SwitchTask):
        default = any(case.when is None for case in task.cases)
        cases = tuple(case.then for case in task.cases)
        return cases if default else (*cases, task.then)
    return (task.then,)


def _ends(task: Task) -> list[str]:
    """Return the tasks after which a task is done; after an error nothing is."""
    if isinstance(task, RaiseTask):
        return []
    if isinstance(task, ForkTask):
        return [end for branch in task.branches for end in _ends(branch)]
    inner = [tasks for tasks in lists_of(task) if tasks]
    if not inner:
        return [task.at]
    return [end for tasks in inner for end in _ends(tasks[-1])]
