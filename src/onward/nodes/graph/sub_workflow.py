"""The `workflow` node: start another workflow, and wait for its result."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from onward.kernel.outcome import Awaits, Failed, Succeeded
from onward.nodes.failures import failure_of
from onward.ports.nodes.node import Tools
from onward.ports.nodes.outside import OutsideError

WorkflowId = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_-]{1,128}$")]


class SubWorkflowNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Run another workflow; the output is its result.

    `version` null is the published one. `input` is its `$trigger`. While the other run is active
    this path costs nothing; when it does not complete, the node fails with CHILD_FAILED. With
    `wait: false` the path continues at once, and the output is `{execution_id}`.
    """

    workflow_id: WorkflowId
    version: Annotated[int, Meta(ge=1)] | None = None
    input: Any = None
    wait: bool = True

    async def run(self, tools: Tools) -> Succeeded | Failed | Awaits:
        """Start the other run, or find it."""
        try:
            child = await tools.runs.start(
                self.workflow_id, self.version, self.input, waits=self.wait
            )
        except OutsideError as problem:
            return failure_of(problem)
        if not self.wait:
            return Succeeded({"execution_id": child})
        return Awaits(name=f"run:{child}")
