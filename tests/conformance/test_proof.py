"""The table of what proves each construct: it names what exists, and leaves nothing out."""

import re
from pathlib import Path

from conformance.scenarios import scenarios
from onward.languages.serverless.read import calls, document, tasks
from onward.languages.serverless.read.authentication import _SCHEMES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "serverless-proof.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| construct")
]


def test_every_scenario_of_the_table_exists():
    known = {
        (scenario.feature, re.sub(r" \(\d+\)$", "", scenario.name)) for scenario in scenarios()
    }

    assert [] == [row for row in ROWS if (row[1].strip("`"), row[2]) not in known]


def test_every_file_of_scenarios_is_in_the_table():
    assert {scenario.feature for scenario in scenarios()} == {row[1].strip("`") for row in ROWS}


def test_every_construct_that_the_reader_knows_is_in_the_table():
    words = {word for row in ROWS for word in re.findall(r"[\w.]+", row[0])}
    known = {*tasks._OWN, *tasks._BASE, *calls.KNOWN_CALLS, *_SCHEMES}
    known |= {f"use.{name}" for name in (*document._USES, "catalogs", "extensions")}

    assert set() == known - words


def test_there_are_enough_scenarios():
    assert len(list(scenarios())) >= 350
