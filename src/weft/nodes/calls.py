"""What tasks of the Serverless Workflow DSL can call, by the names that documents use."""

from __future__ import annotations

from weft.nodes.call_http import CallHttp
from weft.ports.node import Catalogue


def _calls() -> Catalogue:
    catalogue = Catalogue()
    catalogue.register("http")(CallHttp)
    return catalogue


calls = _calls()
