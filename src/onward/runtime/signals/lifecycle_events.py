"""What happens to runs of the Serverless Workflow DSL, as its lifecycle events.

They are derived from the event log of a run. A task that only controls the flow is reported when it
is over: its creation and its start are then published with its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from onward.kernel.run_events import RunEvent
from onward.kernel.timestamps import from_iso, to_iso

PREFIX = "io.serverlessworkflow."
ENDS = {"completed": "completed", "cancelled": "cancelled"}
"""How a run that ended is called; every other end is a fault."""
VERBS = {"status-changed": "updated", "correlation-started": "started"}
VERBS |= {"correlation-completed": "completed"}
"""The word that names the moment, where it is not the event's own."""


class Subject(NamedTuple):
    """The workflow that a run is of."""

    execution_id: str
    namespace: str
    name: str
    version: str
    document: Mapping[str, Any]

    @property
    def qualified(self) -> str:
        """Return the name of the run that is its own."""
        return f"{self.name}-{self.execution_id}.{self.namespace}"

    def task(self, pointer: str) -> Mapping[str, Any]:
        """Return what a document says at a pointer; nothing when it is no task of its own."""
        found: Any = self.document
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            try:
                found = found[int(key) if isinstance(found, list) else key]
            except (LookupError, ValueError, TypeError):
                return {}
        return found if isinstance(found, Mapping) else {}


class LifecycleEvent(NamedTuple):
    """One lifecycle event, without the output, which only the store has."""

    kind: str
    """`workflow.started`, `task.completed` ..."""
    at: str
    task: str = ""
    more: Mapping[str, Any] = {}


class LifecycleStory:
    """One run as far as it has been published: which of its tasks have begun and are not over."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.seq = 0
        """The number of the last event that was seen."""
        self._open: dict[tuple[str, str], bool] = {}
        """Every task that is running, by pointer and item; whether it waits."""

    def copy(self) -> LifecycleStory:
        """Return a copy, to return to after a failure."""
        other = LifecycleStory(self.subject)
        other.seq, other._open = self.seq, dict(self._open)
        return other

    def see(self, event: RunEvent) -> Iterator[LifecycleEvent]:
        """Yield what an event of the log means, in order."""
        self.seq = max(self.seq, event.seq)
        match event.type:
            case "run.started":
                definition = {
                    "name": self.subject.name,
                    "namespace": self.subject.namespace,
                    "version": self.subject.version,
                }
                yield LifecycleEvent("workflow.started", event.at, more={"definition": definition})
                yield _status(event.at, "running")
            case "run.paused":
                yield LifecycleEvent("workflow.suspended", event.at)
                for task, _ in self._open:
                    yield LifecycleEvent("task.suspended", event.at, task)
                yield _status(event.at, "suspended")
            case "run.resumed":
                yield LifecycleEvent("workflow.resumed", event.at)
                for task, _ in self._open:
                    yield LifecycleEvent("task.resumed", event.at, task)
                yield _status(event.at, "running")
            case "run.ended":
                yield from self._ended(event)
            case "node.running" | "node.waiting" | "node.succeeded" | "node.failed":
                if event.node_id.startswith("/"):
                    yield from self._task(event)
            case _:
                pass

    def _ended(self, event: RunEvent) -> Iterator[LifecycleEvent]:
        for task, _ in self._open:
            yield LifecycleEvent("task.cancelled", event.at, task)
            yield _status(event.at, "cancelled", task)
        self._open.clear()
        how = ENDS.get(event.status, "faulted")
        more = {"error": _error(event)} if how == "faulted" else {}
        yield LifecycleEvent(f"workflow.{how}", event.at, more=more)
        yield _status(event.at, how)

    def _task(self, event: RunEvent) -> Iterator[LifecycleEvent]:
        task, key = event.node_id, (event.node_id, event.item)
        kind = self.subject.task(task)
        if key not in self._open:
            began = to_iso(from_iso(event.at) - (event.duration_ms or 0))
            yield LifecycleEvent("task.created", began, task)
            yield LifecycleEvent("task.started", began, task)
            yield _status(began, "running", task)
        waited = self._open.get(key, False)
        match event.type:
            case "node.running":
                self._open[key] = False
            case "node.waiting":
                self._open[key] = True
                yield from self._waiting(event, task, kind, first=not waited)
            case _:
                self._open.pop(key, None)
                if "listen" in kind:
                    keys = (event.metadata or {}).get("correlation_keys")
                    agreed = {"correlationKeys": keys} if keys else {}
                    yield LifecycleEvent("workflow.correlation-completed", event.at, more=agreed)
                how = "completed" if event.type == "node.succeeded" else "faulted"
                more = {"error": _error(event)} if how == "faulted" else {}
                yield LifecycleEvent(f"task.{how}", event.at, task, more)
                yield _status(event.at, how, task)

    def _waiting(
        self, event: RunEvent, task: str, kind: Mapping[str, Any], *, first: bool
    ) -> Iterator[LifecycleEvent]:
        if "try" in kind:
            yield LifecycleEvent("task.retried", event.at, task)
        if "listen" in kind and first:
            yield LifecycleEvent("workflow.correlation-started", event.at)
        if first:
            yield _status(event.at, "waiting", task)


def _status(at: str, phase: str, task: str = "") -> LifecycleEvent:
    return LifecycleEvent(
        f"{'task' if task else 'workflow'}.status-changed", at, task, {"status": phase}
    )


def _error(event: RunEvent) -> dict[str, Any]:
    """Return an error as the language describes it."""
    error = event.error
    if error is None:
        return {"type": "about:blank", "status": 500}
    known = ("type", "status", "title", "detail", "instance")
    found = {name: error.details[name] for name in known if error.details.get(name) is not None}
    if "type" in found:
        return found
    return {"type": "about:blank", "status": 500, "title": error.message}


def cloud_event(
    subject: Subject, seq: int, number: int, event: LifecycleEvent, extra: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a lifecycle event as a CloudEvent. The same one always has the same id."""
    family, _, verb = event.kind.partition(".")
    whose = {"name": subject.qualified}
    if family == "task":
        whose = {"workflow": subject.qualified, "task": event.task}
    data = {**whose, f"{VERBS.get(verb, verb)}At": event.at, **event.more, **extra}
    return {
        "specversion": "1.0",
        "id": f"{subject.execution_id}-{seq}-{number}",
        "source": f"/{subject.namespace}/{subject.name}/{subject.execution_id}",
        "type": f"{PREFIX}{event.kind}.v1",
        "time": event.at,
        "datacontenttype": "application/json",
        "data": data,
    }


def subject_of(execution_id: str, source: bytes) -> Subject | None:
    """Return the workflow that a definition describes; None: it is of another language."""
    document = msgspec.json.decode(source)
    head = document.get("document") if isinstance(document, dict) else None
    if not isinstance(head, dict) or "dsl" not in head:
        return None
    return Subject(execution_id, head["namespace"], head["name"], head["version"], document)
