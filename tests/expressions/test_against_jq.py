"""The same programs on the same data, here and in the C implementation of jq."""

import json

import jq
import pytest

from expressions.programs import PROGRAMS
from weft.errors import ExpressionError
from weft.expressions import compile_jq


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
