"""The node types that onward brings along: control nodes, and nodes that touch the world."""

from __future__ import annotations

from onward.languages.graph.control_nodes import register_control_nodes
from onward.nodes.graph.catalogue import register_graph_nodes
from onward.ports.nodes.node import Catalogue

builtin = Catalogue()
register_control_nodes(builtin)
register_graph_nodes(builtin)
