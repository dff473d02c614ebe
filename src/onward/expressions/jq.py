"""One jq expression: compiled once, evaluated on data any number of times."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from onward.errors import ExpressionError
from onward.expressions.compiler import compile_text
from onward.expressions.limits import DEFAULT_LIMITS, Limits
from onward.expressions.meter import LIMIT, Collection, EvaluationMeter
from onward.expressions.operations import PYTHON_ERRORS, failure
from onward.expressions.purejq import JqError, JqParseError
from onward.expressions.reference import REFERENCE_PATTERN, Reference, read_path, read_reference
from onward.expressions.scope import RequiredNames
from onward.expressions.sizes import Account
from onward.expressions.stream import Env, Filter, Flow
from onward.expressions.time_slice import (
    EvaluationResult,
    Question,
    TimeSlice,
    TimeSliceExceeded,
    current_time_slice,
)

SYNTAX = "EXPRESSION_SYNTAX"
FAILED = "EXPRESSION_FAILED"
_TOO_DEEP = (
    "the expression or its data nests too deeply; flatten it, "
    "or use a loop (until, reduce, recurse)"
)
_LARGEST_NUMBER = 1.7976931348623157e308
_TOKENS = re.compile(r"\b(?:FIELD|FORMAT|IDENT|KW|NUM|OP|STR|VAR) (?:None )?(?=\S)")


class Jq:
    """A compiled expression; immutable.

    `names` are the variables it reads, without "$". The nodes it reads as `$node.<x>` are in
    `nodes`; `all_nodes` is true when it uses `$node` in any other way.
    """

    __slots__ = ("_levels", "_path", "_reference", "_run", "all_nodes", "names", "nodes", "source")

    def __init__(self, source: str, run: Filter, levels: int, found: RequiredNames) -> None:
        self.source = source
        self.names = frozenset(found.names)
        self.nodes = frozenset(found.nodes)
        self.all_nodes = found.all_nodes
        self._run = run
        self._levels = levels
        match = REFERENCE_PATTERN.fullmatch(source)
        self._reference: Reference | None = read_reference(match) if match else None
        self._path: Reference | None = read_path(source)

    def __repr__(self) -> str:
        return f"Jq({self.source!r})"

    def evaluate(
        self,
        input: Any,  # noqa: A002  (what jq calls it)
        variables: Mapping[str, Any],
        *,
        now_ms: int = 0,
        limits: Limits = DEFAULT_LIMITS,
        account: Account | None = None,
    ) -> Any:
        """Return the one value the expression yields for `input` (jq's `.`), or None for none.

        A variable that `variables` lacks is null. Neither `input` nor `variables` is changed; the
        value may share parts with them. Raises ExpressionError: EXPRESSION_FAILED when jq fails on
        this data or yields more than one value, EXPRESSION_LIMIT when it breaks `limits` or takes
        more steps than `account` has left. Raises TimeSliceExceeded inside `within_time_slice`.
        """
        if self._reference is not None:
            return self._follow(self._reference, variables)
        return self._evaluate(False, input, variables, now_ms, limits, account)

    def evaluate_all(
        self,
        input: Any,  # noqa: A002  (what jq calls it)
        variables: Mapping[str, Any],
        *,
        now_ms: int = 0,
        limits: Limits = DEFAULT_LIMITS,
        account: Account | None = None,
    ) -> list[Any]:
        """Return every value the expression yields, in order; raises like `evaluate`."""
        if self._reference is not None:
            return [self._follow(self._reference, variables)]
        found = self._evaluate(True, input, variables, now_ms, limits, account)
        return found if isinstance(found, list) else [found]

    def _follow(self, reference: Reference, variables: Mapping[str, Any]) -> Any:
        try:
            return reference.follow(variables.get(reference.name))
        except ExpressionError as error:
            raise ExpressionError(f"{self._shown()}: {error}", code=error.code) from None

    def _evaluate(
        self,
        every: bool,
        input: Any,  # noqa: A002  (what jq calls it)
        variables: Mapping[str, Any],
        now_ms: int,
        limits: Limits,
        account: Account | None,
    ) -> Any:
        if self._path is not None:
            try:
                found = self._path.follow(input)
            except ExpressionError:
                pass  # jq has its own message for it
            else:
                return [found] if every else found
        values: dict[int | str, Any] = {name: variables.get(name) for name in self.names}
        values["node"] = variables.get("node")
        account = account or Account(limits.steps)
        steps = min(limits.steps, account.left)
        question = Question(self.source, every, input, values, now_ms, limits, steps)
        time_slice = current_time_slice()
        answer = time_slice.answer(question) if time_slice is not None else None
        if answer is None:
            answer = self._answer(question, account, time_slice)
            if time_slice is not None:
                time_slice.record(question, answer)
        account.settle(account.left - answer.spent)
        if answer.error is not None:
            text, code = answer.error
            raise ExpressionError(text, code=code)
        return answer.value

    def _answer(
        self, question: Question, account: Account, time_slice: TimeSlice | None
    ) -> EvaluationResult:
        inputs = (question.data, *question.values.values())
        allowance = None if time_slice is None else time_slice.STEPS_OF_ONE
        meter = EvaluationMeter(question.limits, inputs, account, allowance)
        try:
            return EvaluationResult(self._compute(question, meter), None, meter.spent)
        except TimeSliceExceeded as exceeded:
            exceeded.source, exceeded.body = self.source, question.body()
            raise
        except ExpressionError as error:
            text, code = str(error), error.code
        except JqError as error:
            text, code = _message(error), FAILED
        except (RecursionError, MemoryError):
            text, code = _TOO_DEEP, LIMIT
        except PYTHON_ERRORS as error:
            text, code = str(failure(error)), FAILED
        return EvaluationResult(None, (f"{self._shown()}: {text}", code), meter.spent)

    def _compute(self, question: Question, meter: EvaluationMeter) -> Any:
        meter.descend(self._levels)
        flows = self._run(Env(question.values, meter, question.now_ms), None, question.data)
        return _finish(meter, (_every if question.every else self._only)(meter, flows))

    @staticmethod
    def _only(meter: EvaluationMeter, flows: Iterator[Flow]) -> Any:
        for _, value in flows:
            for _ in flows:
                raise ExpressionError(
                    "it yields more than one value; wrap it in [ ... ] to get a list, "
                    "or in first( ... ) to get one"
                )
            return value
        return None

    def _shown(self) -> str:
        return f"expression {_quote(self.source)}"


def _every(meter: EvaluationMeter, flows: Iterator[Flow]) -> list[Any]:
    collection = Collection(meter)
    for _, value in flows:
        collection.append(value)
    return collection.finish()


def compile_jq(source: str) -> Jq:
    """Read a jq expression; braces `{{ }}` around it are optional.

    Raises ExpressionError (EXPRESSION_SYNTAX) with what is wrong and where.
    """
    text = strip_braces(source)
    if not text:
        raise ExpressionError("the expression is empty; write a jq filter such as .", code=SYNTAX)
    found = RequiredNames()
    try:
        run, levels = compile_text(text, found)
    except JqParseError as error:
        raise ExpressionError(f"{_quote(text)} is not jq: {_explain(error)}", code=SYNTAX) from None
    except ValueError:
        message = f"{_quote(text)}: a number has thousands of digits"
        raise ExpressionError(message, code=SYNTAX) from None
    except RecursionError:
        message = f"{_quote(text)} nests too deeply; split it into functions or nodes"
        raise ExpressionError(message, code=SYNTAX) from None
    except ExpressionError as error:
        raise ExpressionError(f"{_quote(text)}: {error}", code=SYNTAX) from None
    return Jq(text, run, levels, found)


def strip_braces(source: str) -> str:
    """Return the jq inside `{{ }}`, or all of `source` when it has no braces around it."""
    text = source.strip()
    if text.startswith("{{") and text.endswith("}}"):
        return text[2:-2].strip()
    return text


def _quote(source: str) -> str:
    """Return the expression as an error message shows it: on one line, and not too long."""
    text = " ".join(source.split())
    return f"`{text[:77]}...`" if len(text) > 80 else f"`{text}`"


def _explain(error: JqParseError) -> str:
    """Return the parser's message without the names of its tokens."""
    text = _TOKENS.sub("", str(error)).replace("EOF None", "the end").replace("token None", "end")
    return text[:1].lower() + text[1:]


def _message(error: JqError) -> str:
    try:
        return str(error)
    except PYTHON_ERRORS:
        return "failed with a value that cannot be shown"


def _finish(meter: EvaluationMeter, value: Any) -> Any:
    """Return the result as JSON can hold it: NaN is null, infinity the largest number."""
    meter.admit(value)
    return _without_odd_numbers(value) if meter.odd_numbers else value


def _without_odd_numbers(value: Any) -> Any:
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return math.copysign(_LARGEST_NUMBER, value) if math.isinf(value) else value
    if isinstance(value, list):
        return [_without_odd_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_odd_numbers(item) for key, item in value.items()}
    return value
