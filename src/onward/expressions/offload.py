"""Evaluations that exceeded their time slice, answered in another process.

Bytes in, bytes out: the question and its answer cross the border between processes.
"""

from __future__ import annotations

import functools
import marshal

from onward.errors import ExpressionError
from onward.expressions.jq import Jq, compile_jq
from onward.expressions.limits import Limits
from onward.expressions.sizes import Account
from onward.expressions.time_slice import EvaluationResult


def answer_question(body: bytes) -> bytes:
    """Return the answer to a question (`Question.body`), as bytes."""
    source, every, data, values, now_ms, limits, steps = marshal.loads(body)  # noqa: S302
    jq = _compile(source)
    account = Account(steps)
    evaluate = jq.evaluate_all if every else jq.evaluate
    value, error = None, None
    try:
        value = evaluate(data, dict(values), now_ms=now_ms, limits=Limits(*limits), account=account)
    except ExpressionError as problem:
        error = (str(problem), problem.code)
    return marshal.dumps((value, error, account.spent), 2)


def read_answer(body: bytes) -> EvaluationResult:
    """Return the answer that another process gave."""
    return EvaluationResult(*marshal.loads(body))  # noqa: S302  (from a process of our own)


@functools.lru_cache(maxsize=256)
def _compile(source: str) -> Jq:
    return compile_jq(source)
