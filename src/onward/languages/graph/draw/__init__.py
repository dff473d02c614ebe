"""Drawings of a graph document: Mermaid text and a self-contained SVG.

`labels` says how each node looks and what stands on its edges; `mermaid` needs no more. For `svg`,
`layers` puts nodes into rows with few crossings, `coordinates` finds their places, and `style` has
colours and icons. The same document always gives the same drawing. A tree of tasks is drawn too, by
way of `serverless/picture.py`.
"""

from onward.languages.graph.draw.mermaid import mermaid
from onward.languages.graph.draw.svg import svg

__all__ = ["mermaid", "svg"]
