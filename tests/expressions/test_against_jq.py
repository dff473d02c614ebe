"""The same programs on the same data, here and in the C implementation of jq."""

import json

import jq
import pytest

from expressions.programs import LINE, MIXED, MOMENT, PROGRAMS, SHOP
from onward.errors import ExpressionError
from onward.expressions import compile_jq

TEXTS = sorted({program for _, program in PROGRAMS})
INPUTS = [
    *(SHOP, MIXED, LINE, MOMENT),
    *(None, True, 0, -3.5, "", [], {}),
    {"a": [1, {"b": "x"}], "c": None},
    [3, 1, 2],
    "2015-03-05T23:51:47Z",
    [["a", 1], ["b", 2]],
    [{"a": 1, "b": 2}, {"a": 3}],
]
# Where the two differ, and are meant to: what jq does there depends on its version, is a plain
# mistake of it, or is the loss of an error.
ODD = {
    ".user.note // empty": "an error of the left side comes back when the right side is empty",
    '[.[] | try from_entries catch "E"]': "jq 1.7 takes null for a key, 1.8 does not",
    "gmtime": "a fraction of a second before 1970 is rounded the wrong way",
    "gmtime | mktime": "as gmtime",
    "gmtime | todate": "as gmtime",
    "localtime | mktime": "as gmtime",
    "todate": "as gmtime; and a broken down time may lack any of its parts",
    "todate | fromdate": "as todate",
    'strflocaltime("%H:%M")': "as todate",
    'strftime("%A, %B %d, %Y %H:%M:%S")': "as todate",
    'strftime("%j %U %y %m %e %I %p")': "as todate",
}


def outputs_of_jq(program: str, data: object) -> object:
    try:
        return jq.compile(program).input_text(json.dumps(data)).all()
    except ValueError:
        return "error"


def outputs_here(program: str, data: object) -> object:
    try:
        return compile_jq(f"[{program}]").evaluate(data, {})
    except ExpressionError as error:
        assert error.code != "EXPRESSION_LIMIT"
        return "error"


@pytest.mark.parametrize(("data", "program"), PROGRAMS, ids=[program for _, program in PROGRAMS])
def test_a_program_means_what_it_means_in_jq(data, program):
    assert outputs_of_jq(program, data) == outputs_here(program, data)


@pytest.mark.parametrize("program", [text for text in TEXTS if text not in ODD])
def test_a_program_means_it_on_data_that_it_was_not_written_for(program):
    expected = [outputs_of_jq(program, data) for data in INPUTS]

    assert expected == [outputs_here(program, data) for data in INPUTS]


def test_the_differences_that_are_known_are_still_there():
    same = [
        program
        for program in ODD
        if all(outputs_of_jq(program, data) == outputs_here(program, data) for data in INPUTS)
    ]

    assert [] == same


def test_enough_is_compared():
    assert (len(TEXTS) - len(ODD)) * len(INPUTS) + len(PROGRAMS) > 5_000
