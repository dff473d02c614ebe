"""Node types that block: registered by the tests, and found by name in processes of their own."""

from __future__ import annotations

import os
import time
from typing import Any

import msgspec

from onward.kernel.outcome import Succeeded
from onward.ports.nodes.node import BlockingTools, Catalogue


class Burn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Burn CPU for a while, or do something worse."""

    seconds: float = 0
    does: str = ""
    value: Any = None

    def run(self, tools: BlockingTools) -> Any:
        """Do it."""
        until = time.monotonic() + self.seconds
        while time.monotonic() < until:
            sum(range(1000))
        match self.does:
            case "exit":
                os._exit(3)
            case "crash":
                raise ZeroDivisionError("by hand")
            case "hoard":
                return Succeeded(len(bytearray(1_000_000_000)))
            case "print":
                print("to standard output")
                tools.log.write("info", "at work", step=1, secret=tools.credentials.get("key"))
            case "unpicklable":
                return Succeeded(lambda: None)
        return Succeeded([self.value, tools.idempotency_key, tools.attempt, os.getpid()])


def add_burning(catalogue: Catalogue) -> Catalogue:
    """Add `burn` (in a process) and `burn_in_thread`."""
    catalogue.register("burn", runs_in="process", memory_mb=300)(Burn)
    catalogue.register("burn_in_thread")(Burn)
    return catalogue
