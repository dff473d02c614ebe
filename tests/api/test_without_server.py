"""An embedded engine in an install without the `server` extra: nothing of it may be imported."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

BLOCKED = """
    import sys

    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in {"fastapi", "starlette", "pydantic", "uvicorn", "argon2"}:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    sys.meta_path.insert(0, Missing())

    from onward import ApiError, Engine

    HELLO = {
        "id": "hello",
        "nodes": [
            {"id": "start", "type": "manual_trigger"},
            {"id": "greet", "type": "transform", "parameters": {"expression": "$trigger.name"}},
        ],
        "edges": [{"id": "e1", "src": "start", "dst": "greet"}],
    }
"""


def output_of(folder, program: str) -> str:
    """Run a program that finds none of the packages of the extra, and return what it prints."""
    text = textwrap.dedent(BLOCKED) + textwrap.dedent(program)
    command = [sys.executable, "-c", text]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout


def test_runs_are_started_followed_listed_and_controlled(tmp_path):
    printed = output_of(
        tmp_path,
        """
        with Engine.embedded("engine.db") as engine:
            engine.push(HELLO)
            run = engine.start("hello", {"name": "Ada"})
            print(run.result(60), [event.type for event in run.events()][-1])
            print([found.status for found in engine.runs()], len(run.nodes()))
            print([visit.status for visit in run.visits()], run.value("$greet"))
            try:
                run.cancel()
            except ApiError as problem:
                print(type(problem).__name__, problem.code)
            print([entry["action"] for entry in engine.audit()])
        """,
    )

    assert printed.splitlines() == [
        "Ada run.ended",
        "['completed'] 2",
        "['success', 'success'] Ada",
        "ConflictError RUN_ENDED",
        "['start_run', 'create_workflow']",
    ]


def test_what_needs_the_extra_says_how_to_install_it(tmp_path):
    printed = output_of(
        tmp_path,
        """
        with Engine.embedded("engine.db") as engine:
            try:
                engine.add_user("ada", "admin", "correct horse battery")
            except ApiError as problem:
                print(problem.detail)
        """,
    )

    assert printed.startswith("passwords need argon2-cffi, which is not installed: pip install")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"nope": 1}, "the request is not valid: body: Object contains unknown field `nope`"),
        (
            {"workflow_id": 7},
            "the request is not valid: /workflow_id: Expected `str | null`, got `int`",
        ),
    ],
)
def test_a_body_that_is_not_valid_is_refused_with_its_place(tmp_path, body, detail):
    printed = output_of(
        tmp_path,
        f"""
        with Engine.embedded("engine.db") as engine:
            try:
                engine.call("POST", "/runs", body={body!r})
            except ApiError as problem:
                print(type(problem).__name__, problem.status, problem.detail)
        """,
    )

    assert f"InvalidError 422 {detail}\n" == printed
