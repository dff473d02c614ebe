"""House rules that a linter does not know. Each test lists everything there is to put right."""

import ast
import re
import tomllib
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

MAX_MODULE_LINES = 600
LONG_MODULES = {"kernel/coordination.py": 750}
"""Modules that may be longer, because splitting them would split one thought."""
MAX_FUNCTION_LINES = 60
MAX_FOLDER_MODULES = 20
LISTS = {"cli/commands": 26, "expressions": 27, "kernel": 26}
"""Folders that are a plain list of things of one kind, and may be longer."""
MIN_MODULE_LINES = 40
PROGRAMS = {"evaluator_process"}
"""Modules that are started as processes of their own."""
VAGUE_NAMES = {"util", "utils", "helper", "helpers", "common", "misc", "shared", "base", "tools"}
GERUND_NOUNS = {"firing", "routing", "binding", "tracing"}
"""Nouns of the trade that end in -ing."""
PARTICIPLES = {
    *("given", "kept", "told", "made", "held", "known", "found", "past", "once", "elsewhere"),
    *("newer", "gathered", "refused", "asked", "wanted", "taken", "listed", "sent", "shown"),
}
"""Words that say what was done to a thing, and not what it is."""
SHARED_NAMES = {"Page"}
ESSAY_LINES = range(5, 41)
SECTIONS = ["Status", "Context", "Decision", "Consequences"]

FOREIGN_WORDS = re.compile(
    r"/work/|/root/|/home/(?!user\b)|\b(?<!user-)agents?\b|\bsessions?\b", re.IGNORECASE
)
FOREIGN_ALLOWED = {
    "tests/api/exercised.py": {"session"},  # a run of pytest, in the names of its hooks
    "src/onward/languages/serverless/read/calls.py": {"agent"},  # a method of A2A
    "src/onward/nodes/serverless/mcp.py": {"session"},  # a header of MCP
    "tests/adapters/host/servers.py": {"session", "sessions"},  # of SMTP
    "tests/adapters/host/test_http.py": {"session"},  # the name of a cookie
}
"""Words that a file may use after all, because there they mean something else."""
TESTED_AS = {"ports": "contract", "storage": "contract"}
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
    for member in body:
        if isinstance(member, (ast.ClassDef, *FUNCTIONS)):
            yield prefix + member.name, member
        if isinstance(member, ast.ClassDef):
            yield from members(member.body, f"{prefix}{member.name}.")


# -- source --------------------------------------------------------------------------------------


def test_no_module_is_too_long():
    findings = []
    for path in MODULES:
        most = LONG_MODULES.get(path.relative_to(SOURCE).as_posix(), MAX_MODULE_LINES)
        lines = len(path.read_text().splitlines())
        if lines > most:
            findings.append(f"{named(path)}: {lines} lines, {most} at most")
    tell(findings, "split it by what it holds")


def test_a_tiny_module_has_two_readers():
    """A file of a few lines that one other file of its folder reads is a part of that file."""
    texts = {path: path.read_text() for path in MODULES}
    findings = []
    for path, text in texts.items():
        if path.name == "__init__.py" or len(text.splitlines()) >= MIN_MODULE_LINES:
            continue
        dotted = ".".join(("onward", *path.relative_to(SOURCE).with_suffix("").parts))
        package, _, stem = dotted.rpartition(".")
        wanted = re.compile(
            rf"(?:from|import) {re.escape(dotted)}\b|[\"' ]{re.escape(dotted)}\b"
            rf"|from {re.escape(package)} import [^#]*?\b{stem}\b"
        )
        readers = [other for other in MODULES if other != path and wanted.search(texts[other])]
        alone = len(readers) == 1 and readers[0].parent == path.parent
        if alone and path.stem not in PROGRAMS:
            findings.append(f"{named(path)}: read by {[named(reader) for reader in readers]}")
    tell(findings, "put it into the module that reads it")


def test_a_folder_can_be_taken_in_at_a_glance():
    folders: dict[str, int] = {}
    for path in MODULES:
        if path.name != "__init__.py":
            folder = path.parent.relative_to(SOURCE).as_posix()
            folders[folder] = folders.get(folder, 0) + 1
    tell(
        [
            f"{folder}: {count} modules"
            for folder, count in sorted(folders.items())
            if count > LISTS.get(folder, MAX_FOLDER_MODULES)
        ],
        f"a folder has at most {MAX_FOLDER_MODULES} modules: sort them into rooms",
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
    """A method that implements a Protocol's method has its promise there."""
    promised = {
        name.rpartition(".")[2]
        for path in MODULES
        for owner in tree(path).body
        if isinstance(owner, ast.ClassDef) and "Protocol" in map(ast.unparse, owner.bases)
        for name, _ in members(owner.body)
    }
    findings = []
    for path in MODULES:
        module = tree(path)
        if module.body and ast.get_docstring(module) is None:
            findings.append(f"{named(path, 1)}: the module")
        for name, member in members(module.body):
            private = any(part.startswith("_") for part in name.split("."))
            inherited = "." in name and name.rpartition(".")[2] in promised
            if not private and not inherited and ast.get_docstring(member) is None:
                findings.append(f"{named(path, member.lineno)}: {name}")
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


def test_modules_are_nouns():
    findings = []
    for path in MODULES:
        stem = path.stem
        if (stem.endswith("ing") and stem not in GERUND_NOUNS) or stem in PARTICIPLES:
            findings.append(named(path))
    tell(findings, "name the module by what it is, not by what is done")


def test_a_public_class_name_exists_once():
    """A struct of the API and its pydantic model share a name, because the OpenAPI shows it."""
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for statement in tree(path).body:
            if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_"):
                places.setdefault(statement.name, []).append(named(path, statement.lineno))
    tell(
        [
            f"{name}: {', '.join(found)}"
            for name, found in sorted(places.items())
            if len(found) > 1 and name not in SHARED_NAMES
        ],
        "one word means one thing: give one of them another name",
    )


def test_loop_variables_name_their_element():
    findings = []
    for path in MODULES:
        for node in ast.walk(tree(path)):
            targets = []
            if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
                targets = [name for name in ast.walk(node.target) if isinstance(name, ast.Name)]
            findings += [named(path, name.lineno) for name in targets if name.id == "one"]
            if isinstance(node, ast.Attribute) and node.attr == "_at":
                findings.append(f"{named(path, node.lineno)}: ._at")
    tell(findings, "say what it is: `for run in runs`, `self._backend`")


def test_a_class_is_not_split_into_bases():
    """A base with a single subclass and no other reader is a file cut in two."""
    classes: dict[str, tuple[Path, ast.ClassDef]] = {}
    children: dict[str, list[str]] = {}
    used: set[str] = set()
    for path in MODULES:
        module = tree(path)
        bases = {
            id(parent)
            for node in ast.walk(module)
            if isinstance(node, ast.ClassDef)
            for parent in node.bases
        }
        used |= {
            node.id
            for node in ast.walk(module)
            if isinstance(node, ast.Name) and id(node) not in bases
        }
        for node in module.body:
            if isinstance(node, ast.ClassDef):
                classes[node.name] = (path, node)
                for parent in node.bases:
                    if isinstance(parent, ast.Name):
                        children.setdefault(parent.id, []).append(node.name)
    findings = []
    for name, subclasses in sorted(children.items()):
        if name not in classes or len(subclasses) > 1 or name in used:
            continue
        path, node = classes[name]
        parents = {ast.unparse(parent) for parent in node.bases}
        if "Protocol" not in parents and not name.endswith("Error"):
            findings.append(f"{named(path, node.lineno)}: {name} has only {subclasses[0]}")
    tell(findings, "put the two together")


def test_a_package_says_what_is_in_it():
    findings = []
    for path in MODULES:
        if path.name == "__init__.py":
            essay = ast.get_docstring(tree(path)) or ""
            lines = len(essay.splitlines())
            if lines not in ESSAY_LINES:
                findings.append(f"{named(path)}: {lines} lines")
    tell(findings, "an essay of 5 to 40 lines: what is here, and in which order to read it")


def test_some_constants_have_one_home():
    homes = {
        r"^(?:EXIT_\w+|\w+_EXIT) = \d": "cli/exit_codes.py",
        r"= \"\[redacted\]\"": None,
    }
    findings = []
    for pattern, home in homes.items():
        found = [
            named(path, number)
            for path in MODULES
            if home is None or path != SOURCE / home
            for number, line in enumerate(path.read_text().splitlines(), 1)
            if re.search(pattern, line)
        ]
        findings += found if home is not None else found[1:]
    tell(findings, "define it once, and import it")


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
    """A package is covered by its own name, its room's, or those of all the packages inside it."""
    inner = [path.parent for path in package.glob("*/__init__.py")]
    names = {package.name, TESTED_AS.get(package.name, package.name)}
    if package.parent != SOURCE:
        names |= {package.parent.name}
    return bool(names & words) or (bool(inner) and all(_covered(path, words) for path in inner))


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


def test_files_that_pages_name_exist():
    findings = []
    for path in PAGES:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name in re.findall(r"`((?:\w+/)+\w+\.(?:py|lua|sql))`", line):
                if not ((SOURCE / name).exists() or (ROOT / name).exists()):
                    findings.append(f"{named(path, number)}: {name}")
    tell(findings, "name a file below src/onward, or below the root")


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


def test_contributing_and_the_contracts_agree_on_the_layers():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(found["layers"] for found in contracts if found["containers"] == ["onward"])
    line = " > ".join(f"({layer})" if "|" in layer else layer for layer in layers)
    for page in (ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md"):
        assert line in page.read_text(), f"{page.name} must have the line: {line}"
