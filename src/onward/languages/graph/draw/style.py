"""Colours and icons of the SVG drawing, for light and for dark surroundings."""

from __future__ import annotations

from onward.languages.graph.draw.labels import Look

# One accent per look, readable on both backgrounds.
ACCENTS: dict[Look, str] = {
    "trigger": "#16a34a",
    "decision": "#d97706",
    "split": "#8b5cf6",
    "aggregator": "#8b5cf6",
    "merge": "#3b82f6",
    "wait": "#0d9488",
    "outside": "#0284c7",
    "value": "#64748b",
    "fail": "#dc2626",
}

# Strokes in a square of 16 by 16.
ICONS: dict[Look, str] = {
    "trigger": "M5 3 L13 8 L5 13 Z",
    "decision": "M8 2 L14 8 L8 14 L2 8 Z",
    "split": "M2 8 H6 M6 8 L13 3 M6 8 H13 M6 8 L13 13",
    "aggregator": "M14 8 H10 M10 8 L3 3 M10 8 H3 M10 8 L3 13",
    "merge": "M3 3 C3 8 8 7 8 13 M13 3 C13 8 8 7 8 13",
    "wait": "M8 2 A6 6 0 1 1 7.99 2 M8 5 V8 L10.5 9.5",
    "outside": "M8 2 A6 6 0 1 1 7.99 2 M2 8 H14 M8 2 C4.5 6 4.5 10 8 14 C11.5 10 11.5 6 8 2",
    "value": "M6 3 C3 3 6 8 3 8 C6 8 3 13 6 13 M10 3 C13 3 10 8 13 8 C10 8 13 13 10 13",
    "fail": "M4 4 L12 12 M12 4 L4 12",
}

CSS = """
.paper{fill:#fbfcfe}.box{fill:#fff;stroke:#d3dae6;stroke-width:1}
.name{fill:#1e293b;font-weight:600;font-size:13px}.type{fill:#64748b;font-size:11px}
text{font-family:ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
.edge{fill:none;stroke:#94a3b8;stroke-width:1.5}.tip{fill:#94a3b8}
.failing{stroke:#dc2626;stroke-dasharray:5 4}.failing-tip{fill:#dc2626}
.region{fill:#8b5cf6;fill-opacity:.06;stroke:#8b5cf6;stroke-opacity:.3;stroke-dasharray:3 4}
.pill{fill:#fbfcfe}.word{fill:#64748b;font-size:11px;text-anchor:middle}
.icon{fill:none;stroke-width:1.6;stroke-linecap:round;stroke-linejoin:round}
@media (prefers-color-scheme:dark){
.paper,.pill{fill:#10141c}.box{fill:#1a202c;stroke:#334155}.name{fill:#e6ebf3}
.type,.word{fill:#94a3b8}.edge{stroke:#64748b}.tip{fill:#64748b}
.failing{stroke:#f87171}.failing-tip{fill:#f87171}.region{fill-opacity:.12;stroke-opacity:.45}}
"""
