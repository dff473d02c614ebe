"""The input of a run, from the command line: `--input` for a whole value, `-i` for single keys."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onward.errors import InputError, MessageError
from onward.kernel.json import MAX_DEPTH, decode, depth_of

_PAIR = re.compile(r"(?P<key>[^=:]+)(?P<sign>:=|=)(?P<value>.*)", re.DOTALL)


def read_run_input(whole: str | None, pairs: Sequence[str]) -> Any:
    """Return the input that `--input` and `-i` describe together; without either it is `{}`.

    Raises InputError that names the option, what is wrong with it, and how to write it.
    """
    value = {} if whole is None else _json(_text_of(whole), _place_of(whole))
    if pairs and not isinstance(value, dict):
        raise InputError("-i sets keys of an object, but --input is not one: use only one of them")
    for pair in pairs:
        found = _PAIR.fullmatch(pair)
        if found is None:
            raise InputError(f"-i {pair!r}: write key=text, or key:=json for any other value")
        key, text = found["key"], found["value"]
        value[key] = text if found["sign"] == "=" else _json(_bytes(text, pair), f"-i {key}")
        _bytes(pair, f"-i {key}")
    return value


def read_if_given(whole: str | None, pairs: Sequence[str]) -> Any:
    """Return the input that is described; None when nothing is."""
    return read_run_input(whole, pairs) if whole is not None or pairs else None


def _place_of(whole: str) -> str:
    if whole == "-":
        return "standard input"
    return whole[1:] if whole.startswith("@") else "--input"


def _text_of(whole: str) -> bytes:
    if whole == "-":
        return sys.stdin.buffer.read()
    if not whole.startswith("@"):
        return _bytes(whole, "--input")
    try:
        return Path(whole[1:]).read_bytes()
    except OSError as problem:
        raise InputError(f"--input {whole}: the file cannot be read: {problem.strerror}") from None


def _bytes(text: str, place: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{place}: the text is not UTF-8") from None


def _json(data: bytes, place: str) -> Any:
    if depth_of(data) > MAX_DEPTH:
        raise InputError(f"{place}: the value is nested deeper than {MAX_DEPTH} levels")
    try:
        return decode(data)
    except MessageError as problem:
        raise InputError(f"{place}: {problem}; {_remedy(data)}") from None


def _remedy(data: bytes) -> str:
    if not data.strip():
        return "it is empty: write {} for no input"
    if re.search(rb"\b(NaN|Infinity)\b", data):
        return "JSON has no NaN or Infinity: write null, or text"
    if b"'" in data:
        return "JSON has double quotes around keys and text"
    return 'write JSON, such as \'{"name": "Ada"}\', or use -i name=Ada'
