"""Read a `.env`-like file: `NAME=value` lines, comments, and quotes around what needs them.

Single quotes keep a value as it stands. In double quotes a backslash makes `n` and `t` a line
break and a tab, and any other character itself. Without quotes a value ends at the line's end or
at ` #`. Nothing is expanded, and no value spans lines.
"""

from __future__ import annotations

import re

from onward.errors import CredentialError

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_QUOTED = re.compile(r"""(?:'([^']*)'|"((?:[^"\\]|\\.)*)")\s*(?:#.*)?""")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t"}


def read_dotenv(text: str, file: str) -> dict[str, str]:
    """Return the variables in `text`. Raises CredentialError naming `file` and line, no value."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        parts = _LINE.fullmatch(content)
        value = None if parts is None else _value(parts[2])
        if parts is None or value is None:
            raise CredentialError(
                f"{file}:{number}: expected NAME=value, with quotes closed on the same line"
            )
        found[parts[1]] = value
    return found


def _value(written: str) -> str | None:
    if written[:1] not in ("'", '"'):
        return re.split(r"(?:^|\s)#", written, maxsplit=1)[0].strip()
    quoted = _QUOTED.fullmatch(written)
    if quoted is None:
        return None
    if quoted[1] is not None:
        return quoted[1]
    return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), quoted[2])
