"""Drawings of a graph document: Mermaid text and a self-contained SVG."""

from onward.languages.graph.draw.mermaid import mermaid
from onward.languages.graph.draw.svg import svg

__all__ = ["mermaid", "svg"]
