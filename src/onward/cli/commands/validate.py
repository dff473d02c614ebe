"""`onward validate`: every problem of every document, without running anything."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from onward.cli import exit_codes, options
from onward.cli.options import examples, option

_SUFFIXES = (".yaml", ".yml", ".json")
_CATALOG_FUNCTION = "functions/*/*/function.yaml"
"""The functions of a catalog: tasks, which are checked with the documents that call them."""


@click.command(
    epilog=examples("onward validate order.yaml", "onward validate workflows/ --strict --json")
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@options.as_json
@option("--strict", is_flag=True, help="Treat warnings as errors.")
def validate(paths: tuple[Path, ...], as_json: bool, strict: bool) -> int:
    """Check workflow documents, and every .yaml, .yml and .json file in directories.

    Each problem is a line FILE:LINE:COLUMN: SEVERITY: MESSAGE [CODE], with a hint below it. The
    exit code is 3 when a document cannot run. The functions of catalogs are left out.
    """
    from msgspec import to_builtins

    from onward.cli.input.documents import examine
    from onward.cli.output.console import print_json, say

    files = _documents(paths)
    bad = warned = 0
    reports = []
    for file in files:
        _, problems = examine(file)
        errors = [problem for problem in problems if strict or problem.severity == "error"]
        bad += bool(errors)
        warned += len(problems) - len(errors)
        reports.append({"file": str(file), "ok": not errors, "problems": to_builtins(problems)})
        if not as_json:
            for problem in problems:
                sys.stdout.write(problem.describe(str(file)) + "\n")
    if as_json:
        print_json({"files": reports})
    say(_summary(len(files), bad, warned))
    return exit_codes.INVALID if bad else exit_codes.OK


def _documents(paths: Sequence[Path]) -> list[Path]:
    found: dict[Path, None] = {}
    for path in paths:
        inside = list(_inside(path)) if path.is_dir() else [path]
        if not inside:
            raise click.UsageError(f"{path} holds no .yaml, .yml or .json file")
        found.update(dict.fromkeys(inside))
    return list(found)


def _inside(directory: Path) -> Iterator[Path]:
    """Yield the documents in a directory, sorted, without hidden files and catalogs."""
    for file in sorted(directory.rglob("*")):
        hidden = any(part.startswith(".") for part in file.relative_to(directory).parts)
        excluded = hidden or file.match(_CATALOG_FUNCTION)
        if not excluded and file.suffix.lower() in _SUFFIXES and file.is_file():
            yield file


def _summary(files: int, bad: int, warnings: int) -> str:
    from onward.cli.output.console import count_of

    documents = count_of(files, "document")
    suffix = f", {count_of(warnings, 'warning')}" if warnings else ""
    return f"{bad} of {documents} cannot run{suffix}" if bad else f"{documents} valid{suffix}"
