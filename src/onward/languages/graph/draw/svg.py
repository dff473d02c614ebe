"""A graph as one self-contained SVG: layered top to bottom, light or dark as its reader is."""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from onward.languages.document.problems import Findings
from onward.languages.graph.check.names import check_names
from onward.languages.graph.draw.coordinates import place_cells
from onward.languages.graph.draw.labels import edge_labels, look_of
from onward.languages.graph.draw.layers import Layers, Region, arrange
from onward.languages.graph.draw.style import ACCENTS, CSS, ICONS
from onward.languages.graph.model import Document, EdgeDocument, NodeDocument
from onward.languages.graph.structure import analyse

_HEIGHT = 48.0
_ROW = 104.0
_MARGIN = 32.0
_LANE = 18.0
_SHOWN = 30
_Point = tuple[float, float]


def svg(document: Document) -> str:
    """Return the drawing. The same document always gives the same text.

    A document with faults is drawn as far as it goes: edges without an end are left out.
    """
    sound = check_names(document, Findings())
    return _Drawing(sound).text()


@dataclass(frozen=True, slots=True)
class _Box:
    x: float
    y: float
    width: float
    height: float

    def meets(self, other: _Box) -> bool:
        return (
            self.x < other.x + other.width
            and other.x < self.x + self.width
            and self.y < other.y + other.height
            and other.y < self.y + self.height
        )


class _Drawing:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.structure = analyse(document)
        self.layers: Layers = arrange(document, self.structure)
        self.names = {node.id: _short(node.name) for node in document.nodes}
        widths = [
            _LANE if cell.node is None else _box_width(self.structure.nodes[cell.node], self.names)
            for cell in self.layers.cells
        ]
        self.centres = place_cells(self.layers, widths)
        self.boxes = {
            cell.node: _Box(centre - width / 2, self._top(cell.layer), width, _HEIGHT)
            for cell, centre, width in zip(self.layers.cells, self.centres, widths, strict=True)
            if cell.node is not None
        }
        self.ports = self._ports()

    def _top(self, layer: int) -> float:
        return _MARGIN + layer * _ROW

    def text(self) -> str:
        outermost_first = reversed(self.layers.regions())
        found = (self._background(region) for region in outermost_first)
        regions = [box for box in found if box is not None]
        boxes = [*self.boxes.values(), *regions]
        left = min((*(box.x for box in boxes), *self.centres), default=0) - _MARGIN
        top = min((box.y for box in boxes), default=0) - _MARGIN
        right = max((*(box.x + box.width for box in boxes), *self.centres), default=0) + _MARGIN
        bottom = max((box.y + box.height for box in boxes), default=0) + _MARGIN
        frame = f"{left:.0f} {top:.0f} {right - left:.0f} {bottom - top:.0f}"
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{frame}" '
            f'width="{right - left:.0f}" height="{bottom - top:.0f}" role="img">',
            f"<title>{_xml(self.document.name)}</title>",
            f"<style>{CSS}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path class="tip" d="M0 0 L8 4 L0 8 Z"/></marker>'
            '<marker id="failing-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path class="failing-tip" d="M0 0 L8 4 L0 8 Z"/>'
            "</marker></defs>",
            f'<rect class="paper" x="{left:.0f}" y="{top:.0f}" width="100%" height="100%"/>',
            *(_region_svg(box) for box in regions),
            *(self._edge(edge) for edge in self.document.edges),
            *(self._node(node) for node in self.document.nodes),
            *self._words(),
            "</svg>",
        ]
        return "\n".join(parts) + "\n"

    def _background(self, region: Region) -> _Box | None:
        """Return the background of a split's items, unless it would lie behind other nodes."""
        inside = {self.layers.cells[cell].node for cell in region.cells}
        boxes = [box for node, box in self.boxes.items() if node in inside]
        if len(boxes) < 2:
            return None
        x, y = min(box.x for box in boxes) - region.pad, min(box.y for box in boxes) - region.pad
        right = max(box.x + box.width for box in boxes) + region.pad
        bottom = max(box.y + box.height for box in boxes) + region.pad
        background = _Box(x, y, right - x, bottom - y)
        others = (box for node, box in self.boxes.items() if node not in inside)
        return None if any(background.meets(box) for box in others) else background

    def _ports(self) -> dict[tuple[str, str], float]:
        """Return where each edge touches its two nodes: side by side, in the order of its lane."""
        sides: dict[tuple[str, str], list[tuple[float, str]]] = {}
        for edge in self.document.edges:
            route = self.layers.routes[edge.id]
            upper, lower = self.layers.cells[route[0]].node, self.layers.cells[route[-1]].node
            sides.setdefault((upper or "", "below"), []).append((self.centres[route[1]], edge.id))
            sides.setdefault((lower or "", "above"), []).append((self.centres[route[-2]], edge.id))
        ports = {}
        for (node, side), touching in sides.items():
            box = self.boxes[node]
            step = min(26.0, (box.width - 32) / max(1, len(touching) - 1))
            first = box.x + box.width / 2 - step * (len(touching) - 1) / 2
            for index, (_, name) in enumerate(sorted(touching)):
                ports[name, side] = first + index * step
        return ports

    def _points(self, edge: EdgeDocument) -> list[_Point]:
        """Return the points an edge passes, from its source to its target."""
        route = self.layers.routes[edge.id]
        cells = self.layers.cells
        points = [(self.ports[edge.id, "below"], self._top(cells[route[0]].layer) + _HEIGHT)]
        for lane in route[1:-1]:
            top = self._top(cells[lane].layer)
            points += [(self.centres[lane], top), (self.centres[lane], top + _HEIGHT)]
        points.append((self.ports[edge.id, "above"], self._top(cells[route[-1]].layer)))
        return points[::-1] if edge.id in self.layers.backward else points

    def _edge(self, edge: EdgeDocument) -> str:
        (x, y), *rest = self._points(edge)
        path = f"M{x:.1f} {y:.1f}"
        for to_x, to_y in rest:
            bend = (to_y - y) * 0.5
            path += (
                f" L{to_x:.1f} {to_y:.1f}"
                if abs(to_x - x) < 0.5
                else f" C{x:.1f} {y + bend:.1f} {to_x:.1f} {to_y - bend:.1f} {to_x:.1f} {to_y:.1f}"
            )
            x, y = to_x, to_y
        style, tip = ("edge failing", "failing-tip") if edge.kind == "error" else ("edge", "tip")
        return f'<path class="{style}" marker-end="url(#{tip})" d="{path}"/>'

    def _words(self) -> list[str]:
        """Return the labels of edges, each on its edge and close to its source."""
        words = edge_labels(self.document)
        drawn = []
        for edge in self.document.edges:
            if edge.id in words:
                (x, y), (to_x, to_y), *_ = self._points(edge)
                at_x, at_y = x + (to_x - x) * 0.35, y + (to_y - y) * 0.42
                text = _short(words[edge.id])
                width = 6.4 * len(text) + 8
                drawn.append(
                    f'<rect class="pill" x="{at_x - width / 2:.1f}" y="{at_y - 8:.1f}" '
                    f'width="{width:.1f}" height="16" rx="8"/>'
                    f'<text class="word" x="{at_x:.1f}" y="{at_y + 4:.1f}">{_xml(text)}</text>'
                )
        return drawn

    def _node(self, node: NodeDocument) -> str:
        box = self.boxes[node.id]
        look = look_of(node)
        accent = ACCENTS[look]
        title = _xml(f"{node.name} ({node.type})")
        return (
            f"<g id={quoteattr(f'node-{node.id}')}><title>{title}</title>"
            f'<rect class="box" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
            f'height="{box.height:.0f}" rx="10"/>'
            f'<rect x="{box.x + 9:.1f}" y="{box.y + 9:.1f}" width="30" height="30" rx="8" '
            f'fill="{accent}" fill-opacity=".14"/>'
            f'<path class="icon" stroke="{accent}" d="{ICONS[look]}" '
            f'transform="translate({box.x + 16:.1f} {box.y + 16:.1f})"/>'
            f'<text class="name" x="{box.x + 49:.1f}" y="{box.y + 21:.1f}">'
            f"{_xml(self.names[node.id])}</text>"
            f'<text class="type" x="{box.x + 49:.1f}" y="{box.y + 37:.1f}">'
            f"{_xml(_short(node.type))}</text></g>"
        )


def _region_svg(box: _Box) -> str:
    return (
        f'<rect class="region" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="16"/>'
    )


def _box_width(node: NodeDocument, names: dict[str, str]) -> float:
    text = max(_width(names[node.id], 7.6), _width(_short(node.type), 6.2))
    return max(132.0, 49 + text + 16)


def _width(text: str, wide: float) -> float:
    """Return about how wide `text` is; East Asian and other tall scripts count double."""
    return sum(wide if char < "\u1100" else 2 * wide * 0.85 for char in text)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def _xml(text: str) -> str:
    """Return `text` for XML, which has no way at all to write most control characters."""
    return escape(
        "".join(char if char >= " " and char not in "\ufffe\uffff" else " " for char in text)
    )
