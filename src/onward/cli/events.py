"""`--events`: every status and completion message as a line of JSON, as it is published."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

import click
import msgspec

from onward.errors import InputError
from onward.runtime.gathered import News

_encode = msgspec.json.Encoder().encode


class EventLines:
    """Appends whole lines, each with one write: readers and other writers never see half of one.

    A file that can no longer be written is given up, with a word on standard error; the run is
    worth more than its transcript.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self._lost = False
        self._out = _opened(file)

    def observe(self, news: News) -> None:
        """Write one message."""
        if self._lost:
            return
        try:
            self._out.write(_encode(news) + b"\n")
            self._out.flush()
        except OSError as problem:
            self._lost = True
            if not isinstance(problem, BrokenPipeError):
                click.echo(f"{self.file}: events are lost from here: {problem.strerror}", err=True)


def _opened(file: str) -> BinaryIO:
    if file == "-":
        return sys.stdout.buffer
    try:
        return Path(file).open("ab", buffering=0)
    except OSError as problem:
        raise InputError(f"--events {file}: it cannot be written: {problem.strerror}") from None
