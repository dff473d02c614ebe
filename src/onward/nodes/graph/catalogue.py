"""The node types of the graph language that touch the world, by the names that documents use."""

from __future__ import annotations

from onward.nodes.graph.http import HttpNode
from onward.nodes.graph.smtp import SmtpNode
from onward.nodes.graph.sub_workflow import SubWorkflowNode
from onward.ports.nodes.node import Catalogue


def register_graph_nodes(catalogue: Catalogue) -> None:
    """Add the node types to a catalogue."""
    catalogue.register("http")(HttpNode)
    catalogue.register("smtp", credential=True)(SmtpNode)
    catalogue.register("workflow")(SubWorkflowNode)
