"""The source of a document: JSON or YAML 1.2 text as a value, with the place of each part."""

from __future__ import annotations

from onward.errors import DefinitionError, DocumentProblem
from onward.languages.document.json import read_json
from onward.languages.document.limits import MAX_BYTES, Source, UnreadableError, too_large


def read(text: str | bytes, *, file: str = "") -> Source:
    """Return what `text` says, read as JSON when it is JSON and as YAML otherwise.

    Raises DefinitionError with one problem (line, column, hint) for text that cannot be read to
    its end. What can be read but not meant (a key given twice, NaN) is in the result's `problems`.
    """
    try:
        return _read(_decode(text), file)
    except UnreadableError as error:
        raise DefinitionError([error.problem], file) from None


def _decode(text: str | bytes) -> str:
    if len(text) > MAX_BYTES:
        raise too_large(f"{len(text) / 1024 / 1024:.1f} MB")
    if isinstance(text, bytes):
        text = _from_utf8(text)
    text = text.removeprefix("\ufeff")
    for offset, char in enumerate(text) if not text.isascii() else ():
        if "\ud800" <= char <= "\udfff":
            line = text.count("\n", 0, offset) + 1
            message = "the text holds half of a surrogate pair, which no encoding can carry"
            raise UnreadableError(DocumentProblem("BAD_TEXT", message, "remove it", line=line))
    return text


def _from_utf8(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte {error.start} is not UTF-8"
        raise UnreadableError(DocumentProblem("ENCODING", message, "save it as UTF-8", line=line))


def _read_yaml(text: str) -> Source:
    """Read YAML. Its parser is imported here: stored definitions are JSON and never need it."""
    from onward.languages.document import yaml  # noqa: PLC0415

    return yaml.read_yaml(text)


def _read(text: str, file: str) -> Source:
    looks_like_json = text.lstrip().startswith(("{", "[")) or file.endswith(".json")
    if not looks_like_json or not text.strip():
        return _read_yaml(text)
    try:
        return read_json(text)
    except UnreadableError as json_error:
        # A YAML document may start with a bracket too; only its author knows which was meant.
        if file.endswith(".json") or json_error.problem.code != "SYNTAX":
            raise
        try:
            return _read_yaml(text)
        except UnreadableError as yaml_error:
            if file.endswith((".yaml", ".yml")):
                raise yaml_error from None
            raise json_error from None
