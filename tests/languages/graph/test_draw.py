"""Drawings: complete, well formed, deterministic, and safe with any name."""

import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward.languages.graph.document import parse, parse_definition
from onward.languages.graph.draw import mermaid, svg

EXAMPLES = sorted(Path(__file__).parents[3].joinpath("examples").glob("*.yaml"))
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>alert(\"x\")</script> & 'quote' ]]> `tick` {{brace}} #hash; | \\ %%"


def document_of(*edges, types=None):
    types = types or {}
    names = sorted({name for edge in edges for name in edge})
    return parse_definition(
        {
            "nodes": [{"id": name, "type": types.get(name, "noop")} for name in names],
            "edges": [{"src": src, "dst": dst} for src, dst in edges],
        }
    )


def boxes(drawing):
    root = ET.fromstring(drawing)
    return {
        group.get("id").removeprefix("node-"): tuple(
            float(group.find(f"{SVG}rect").get(side)) for side in ("x", "y", "width", "height")
        )
        for group in root.iter(f"{SVG}g")
    }


def overlap(one, other):
    (x, y, w, h), (x2, y2, w2, h2) = one, other
    return x < x2 + w2 and x2 < x + w and y < y2 + h2 and y2 < y + h


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_drawing_of_an_example_shows_every_node_and_edge(path):
    document = parse(path.read_bytes(), file=path.name)

    root = ET.fromstring(svg(document))

    shown = {text.text for text in root.iter(f"{SVG}text")}
    assert {node.name for node in document.nodes} <= shown
    assert len(document.edges) == len(root.findall(f"{SVG}path"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_drawing_is_the_same_every_time(path):
    text = path.read_bytes()

    assert svg(parse(text)) == svg(parse(text))


def test_a_node_is_below_every_node_that_leads_to_it():
    edges = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("a", "e"), ("e", "d")]

    drawn = boxes(svg(document_of(*edges)))

    assert all(drawn[src][1] < drawn[dst][1] for src, dst in edges)


def test_a_chain_is_drawn_straight():
    drawn = boxes(svg(document_of(("a", "b"), ("b", "c"), ("c", "d"))))

    assert 1 == len({round(x + width / 2) for x, _, width, _ in drawn.values()})


def test_edges_that_need_not_cross_do_not():
    drawn = boxes(svg(document_of(("a", "z"), ("b", "y"), ("c", "x"))))

    above = sorted("abc", key=lambda name: drawn[name][0])
    below = sorted("xyz", key=lambda name: drawn[name][0])
    assert [{"a": "z", "b": "y", "c": "x"}[name] for name in above] == below


def test_the_items_of_a_split_have_a_background_and_nothing_else_is_on_it():
    document = document_of(
        ("a", "s"), ("s", "x"), ("s", "y"), ("x", "g"), ("y", "g"), ("g", "z"), ("a", "o"),
        ("o", "p"), ("p", "z"),
        types={"s": "split", "g": "aggregator", "z": "merge"},
    )  # fmt: skip
    drawing = svg(document)

    (region,) = ET.fromstring(drawing).findall(f"{SVG}rect[@class='region']")
    rectangle = tuple(float(region.get(side)) for side in ("x", "y", "width", "height"))

    on_it = {name for name, box in boxes(drawing).items() if overlap(box, rectangle)}
    assert {"s", "x", "y", "g"} == on_it


def test_a_document_with_a_cycle_and_a_loose_edge_is_drawn_as_far_as_it_goes():
    document = document_of(("a", "b"), ("b", "c"), ("c", "b"), ("c", "c"))

    assert {"a", "b", "c"} == set(boxes(svg(document)))
    assert "n1 --> n2" in mermaid(document)


def test_an_empty_workflow_is_drawn():
    document = parse("nodes: []")

    assert f"{SVG}svg" == ET.fromstring(svg(document)).tag
    assert "flowchart TD\n" == mermaid(document)


@pytest.mark.parametrize("name", [HOSTILE, "\x00\x1b[31m", "\ufffe", "名前" * 40, " ", "end"])
def test_a_hostile_name_cannot_leave_its_label(name):
    document = parse_definition(
        {"name": name, "nodes": [{"id": "end", "type": name, "name": name}], "edges": []}
    )

    root = ET.fromstring(svg(document))

    assert {"svg", "title", "style", "defs", "marker", "path", "rect", "g", "text"} >= {
        element.tag.removeprefix(SVG) for element in root.iter()
    }
    assert re.fullmatch(
        r'flowchart TD\n    n0\[\["[^"\n`<>]*<br/><small>[^"\n`<>]*</small>"\]\]\n',
        mermaid(document),
    )


def test_a_long_name_is_cut_in_its_box_and_whole_in_its_title():
    name = "A name that is much longer than any box should ever be"
    root = ET.fromstring(svg(parse_definition({"nodes": {"a": {"type": "noop", "name": name}}})))

    (group,) = root.iter(f"{SVG}g")
    assert f"{name} (noop)" == group.find(f"{SVG}title").text
    assert group.find(f"{SVG}text").text.endswith("…")


def test_mermaid_shows_shapes_answers_and_dashed_error_edges():
    document = parse("""
nodes:
  start: {type: manual_trigger}
  check: {type: conditional, name: Ok?, parameters: {expression: ".x", true_edge_id: y}}
  work: {type: http, error: {type: branch, error_edge: bad}}
  stop: {type: fail}
edges:
  - {src: start, dst: check}
  - {id: "y", src: check, dst: work}
  - {id: bad, src: work, dst: stop}
""")

    assert mermaid(document) == (
        "flowchart TD\n"
        '    n0(["start<br/><small>manual#95;trigger</small>"])\n'
        '    n1{"Ok?<br/><small>conditional</small>"}\n'
        '    n2[["work<br/><small>http</small>"]]\n'
        '    n3>"stop<br/><small>fail</small>"]\n'
        "    n0 --> n1\n"
        '    n1 -->|"true"| n2\n'
        '    n2 -.->|"error"| n3\n'
    )


NAMES = [f"n{index}" for index in range(12)]
TYPES = st.sampled_from(("noop", "split", "aggregator", "merge", "http", "conditional"))


@settings(max_examples=60, deadline=None)
@given(
    st.fixed_dictionaries(dict.fromkeys(NAMES, TYPES)),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=24),
)
def test_no_two_nodes_overlap_in_any_drawing(types, edges):
    document = parse_definition(
        {
            "nodes": [{"id": name, "type": kind} for name, kind in types.items()],
            "edges": [{"src": src, "dst": dst} for src, dst in edges],
        }
    )

    drawn = boxes(svg(document))

    assert set(NAMES) == set(drawn)
    assert not any(overlap(one, other) for one, other in combinations(drawn.values(), 2))
