"""House rules that a linter does not know. Each test lists everything there is to put right."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "onward"
MODULES = sorted(SOURCE.rglob("*.py"))
TESTS = sorted(path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__))
PAGES = sorted(
    path for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")) if path.is_file()
)
DECISIONS = ROOT / "docs" / "decisions"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60
VAGUE_NAMES = {"util", "utils", "helper", "helpers", "common", "misc", "shared", "base", "tools"}
SECTIONS = ["Status", "Context", "Decision", "Consequences"]

FOREIGN_WORDS = re.compile(
    r"/work/|/root/|/home/(?!user\b)|\b(?<!user-)agents?\b|\bsessions?\b", re.IGNORECASE
)
FOREIGN_ALLOWED = {
    "tests/api/exercised.py": {"session"},  # a run of pytest, in the names of its hooks
    "src/onward/languages/serverless/read_remotes.py": {"agent"},  # a method of A2A
    "src/onward/nodes/mcp_talk.py": {"session"},  # a header of MCP
    "tests/host/servers.py": {"session", "sessions"},  # of SMTP
    "tests/host/test_http.py": {"session"},  # the name of a cookie
}
"""Words that a file may use after all, because there they mean something else."""
TESTED_AS = {"ports": "contract", "embedded": "engine", "bootstrap": "cli"}
"""Packages whose tests go by another name."""


def tell(findings: list[str], rule: str) -> None:
    """Fail with every finding, one on a line, below the rule they break."""
    if findings:
        pytest.fail(f"{rule}\n  " + "\n  ".join(findings), pytrace=False)


def named(path: Path, line: int | None = None) -> str:
    """Return a path as an editor opens it."""
    where = path.relative_to(ROOT).as_posix()
    return where if line is None else f"{where}:{line}"


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


def members(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Iterate over classes, functions and methods; what is inside a function is its own matter."""
    for one in body:
        if isinstance(one, (ast.ClassDef, *FUNCTIONS)):
            yield prefix + one.name, one
        if isinstance(one, ast.ClassDef):
            yield from members(one.body, f"{prefix}{one.name}.")


# -- source --------------------------------------------------------------------------------------


def test_no_module_is_longer_than_400_lines():
    lengths = {path: len(path.read_text().splitlines()) for path in MODULES}
    tell(
        [f"{named(path)}: {n} lines" for path, n in lengths.items() if n > MAX_MODULE_LINES],
        f"a module has at most {MAX_MODULE_LINES} lines: split it by what it holds",
    )


def test_no_function_is_longer_than_60_lines():
    findings = []
    for path in MODULES:
        for one in ast.walk(tree(path)):
            if isinstance(one, FUNCTIONS) and one.end_lineno is not None:
                lines = one.end_lineno - one.lineno + 1
                if lines > MAX_FUNCTION_LINES:
                    findings.append(f"{named(path, one.lineno)}: {one.name} has {lines} lines")
    tell(findings, f"a function has at most {MAX_FUNCTION_LINES} lines: name a part of it")


def test_modules_classes_and_public_functions_say_what_they_promise():
    findings = []
    for path in MODULES:
        module = tree(path)
        if module.body and ast.get_docstring(module) is None:
            findings.append(f"{named(path, 1)}: the module")
        for name, one in members(module.body):
            private = any(part.startswith("_") for part in name.split("."))
            if not private and ast.get_docstring(one) is None:
                findings.append(f"{named(path, one.lineno)}: {name}")
    tell(findings, "write a docstring that states the promise")


def test_nothing_is_left_to_do():
    words = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
    tell(
        [
            f"{named(path, number)}: {line.strip()}"
            for path in (*MODULES, *TESTS, *PAGES)
            for number, line in enumerate(path.read_text().splitlines(), 1)
            if words.search(line)
        ],
        "do it now, or open an issue",
    )


def test_nothing_is_left_over_from_editing_and_merging():
    folders = ("benchmarks", "deploy", "docs", "examples", "src", "tests")
    leftovers = (".orig", ".rej", ".bak", ".swp", "~")
    found = [
        str(path.relative_to(ROOT))
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.name.endswith(leftovers)
    ]
    assert [] == found


def test_modules_are_named_for_what_they_hold():
    tell(
        [named(path) for path in (*MODULES, *TESTS) if VAGUE_NAMES & {path.stem, path.parent.name}],
        "name the module for what it holds; these names hold anything",
    )


def test_only_the_command_line_prints():
    findings = []
    for path in MODULES:
        if path.relative_to(SOURCE).parts[0] == "cli":
            continue
        for one in ast.walk(tree(path)):
            if isinstance(one, ast.Call) and getattr(one.func, "id", "") == "print":
                findings.append(named(path, one.lineno))
    tell(findings, "return it, or write it to the log port")


def test_scripts_begin_by_saying_what_they_are():
    tell(
        [
            named(path, 1)
            for path in sorted((*SOURCE.rglob("*.sql"), *SOURCE.rglob("*.lua")))
            if not path.read_text().startswith("--")
        ],
        "begin with a comment: what it does, what it takes, what it returns",
    )


def test_every_package_has_tests():
    packages = [path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE]
    words = {
        word
        for path in TESTS
        if path.name.startswith("test_")
        for part in path.relative_to(ROOT / "tests").with_suffix("").parts
        for word in (part, *part.split("_"))
    }
    tell(
        [named(path) for path in sorted(packages) if not _covered(path, words)],
        "add tests in a folder or file that is named for the package",
    )


def _covered(package: Path, words: set[str]) -> bool:
    """A package is covered by its own name, or by those of all the packages inside it."""
    inner = [path.parent for path in package.glob("*/__init__.py")]
    name = TESTED_AS.get(package.name, package.name)
    return name in words or (bool(inner) and all(_covered(one, words) for one in inner))


# -- words ---------------------------------------------------------------------------------------


def test_the_project_speaks_of_itself_alone():
    findings = []
    scripts = (ROOT / "onward", ROOT / ".ci" / "run", *SOURCE.rglob("*.sql"))
    examples = [
        path
        for path in (ROOT / "examples").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    for path in (*MODULES, *TESTS, *PAGES, *scripts, *examples):
        allowed = FOREIGN_ALLOWED.get(named(path), set())
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = {word.lower() for word in FOREIGN_WORDS.findall(line)} - allowed
            findings += [f"{named(path, number)}: {word}" for word in sorted(found)]
    tell(findings, "machine paths and workplace words have no place in a file of the project")


# -- pages ---------------------------------------------------------------------------------------


def decisions() -> list[Path]:
    return sorted(path for path in DECISIONS.glob("*.md") if path.name != "README.md")


def test_decisions_are_numbered_without_gaps():
    names = [path.name for path in decisions()]
    numbers = [int(name[:4]) for name in names if re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", name)]
    assert names != []
    tell(
        [f"{name}: not NNNN-words.md" for name in names if not re.match(r"\d{4}-", name)]
        + [f"{n:04d} is missing" for n in range(1, max(numbers)) if n not in numbers]
        + [f"{n:04d} is there twice" for n in sorted(set(numbers)) if numbers.count(n) > 1],
        "docs/decisions: number decisions one after the other",
    )


def test_decisions_have_a_status_a_context_a_decision_and_consequences():
    findings = []
    for path in decisions():
        headings = re.findall(r"^## (.+)$", path.read_text(), re.MULTILINE)
        findings += [
            f"{named(path)}: no '## {section}'" for section in SECTIONS if section not in headings
        ]
    tell(findings, "a decision says its status, context, decision and consequences")


def test_every_decision_is_in_the_index():
    index = (DECISIONS / "README.md").read_text()
    tell(
        [path.name for path in decisions() if f"]({path.name})" not in index],
        "add a line to docs/decisions/README.md",
    )


def test_links_between_pages_lead_somewhere():
    findings = []
    for path in PAGES:
        for number, line in enumerate(_without_code(path.read_text()).splitlines(), 1):
            for target in re.findall(r"\]\(([^)\s]+)\)", line):
                file, _, anchor = target.partition("#")
                if re.match(r"[a-z]+:", target):
                    continue
                aim = (path.parent / file).resolve() if file else path
                if not aim.exists():
                    findings.append(f"{named(path, number)}: {target} does not exist")
                elif anchor and aim.suffix == ".md" and anchor not in _anchors(aim.read_text()):
                    findings.append(f"{named(path, number)}: {target} has no such heading")
    tell(findings, "correct the link")


def _without_code(text: str) -> str:
    """Blank fenced blocks out, keeping the line numbers: what looks like a link there is not."""
    return re.sub(
        r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.M | re.S
    )


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _without_code(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_example_is_used():
    """
    An example that nothing runs or explains is wrong sooner or later.
    """
    readers = "\n".join(path.read_text() for path in (*TESTS, *PAGES))
    tell(
        [named(path) for path in (ROOT / "examples").rglob("*.yaml") if path.name not in readers],
        "mention the example in a page or a test",
    )
