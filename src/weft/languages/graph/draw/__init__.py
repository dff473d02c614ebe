"""Drawings of a graph document: Mermaid text and a self-contained SVG."""

from weft.languages.graph.draw.mermaid import mermaid
from weft.languages.graph.draw.svg import svg

__all__ = ["mermaid", "svg"]
