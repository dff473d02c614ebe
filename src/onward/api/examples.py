"""An example for every operation, by its name; each room has those of its own."""

from __future__ import annotations

from onward.api.operations.examples import EXAMPLES as OPERATION_EXAMPLES
from onward.api.routing.examples import Example
from onward.api.runs.examples import EXAMPLES as RUN_EXAMPLES
from onward.api.security.examples import EXAMPLES as SECURITY_EXAMPLES
from onward.api.triggers.examples import EXAMPLES as TRIGGER_EXAMPLES
from onward.api.workflows.examples import EXAMPLES as WORKFLOW_EXAMPLES

EXAMPLES: dict[str, Example] = {
    **WORKFLOW_EXAMPLES,
    **RUN_EXAMPLES,
    **TRIGGER_EXAMPLES,
    **OPERATION_EXAMPLES,
    **SECURITY_EXAMPLES,
}
