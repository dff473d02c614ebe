"""The examples of docs/reference/expressions.md are true."""

import json
import re
from pathlib import Path

import pytest

from onward.expressions import compile_template

PAGE = (Path(__file__).parents[2] / "docs/reference/expressions.md").read_text(encoding="utf-8")
DATA = json.loads(re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1])
EXAMPLES = [
    (template.replace("\\|", "|"), json.loads(value))
    for template, value in re.findall(
        r"^\| `(.*?)` \| `(.*)` \|$",
        PAGE.split("## Examples")[1].split("## Rules")[0],
        re.MULTILINE,
    )
]


def test_the_page_has_examples():
    assert len(EXAMPLES) > 20


@pytest.mark.parametrize(("template", "value"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_an_example_on_the_page_is_true(template, value):
    assert value == compile_template(template).render(None, DATA)
