"""A document is read and checked once for each start, by the command line and by a server."""

from collections import Counter
from pathlib import Path

import pytest

from onward.bootstrap import languages
from onward.bootstrap.embedded_backend import open_embedded_backend
from onward.bootstrap.settings import EmbeddedSettings
from onward.cli.input.documents import open_source
from onward.languages.graph import document as graph
from onward.languages.graph import program
from onward.languages.serverless.read import document as serverless
from onward.runtime.workflows.service import WorkflowService

GRAPH = """
id: hello
nodes:
  - {id: hello, type: log, parameters: {message: Hello}}
"""
TREE = """
document: {dsl: 1.0.3, namespace: test, name: hello, version: 1.0.0}
do:
  - hello: {set: {greeting: Hello}}
"""


@pytest.fixture
def calls(monkeypatch):
    """Count the calls that read a text, parse a document and check one, wherever they are made."""
    found = Counter()

    def count(module, name, kind):
        original = getattr(module, name)

        def counted(*given, **named):
            found[kind] += 1
            return original(*given, **named)

        monkeypatch.setattr(module, name, counted)

    count(Path, "read_bytes", "file")
    for module in (languages, graph, serverless):
        count(module, "read", "read")
    count(graph, "_finish", "parse")
    count(serverless, "_finish", "parse")
    count(languages, "check", "check")
    count(program, "check", "check")
    return found


@pytest.mark.parametrize(("text", "checks"), [(GRAPH, 1), (TREE, 0)])
def test_the_command_line_reads_a_file_once(tmp_path, calls, text, checks):
    file = tmp_path / "hello.yaml"
    file.write_text(text)

    opened = open_source(file)

    assert "hello" in opened.program.workflow_id
    assert Counter(file=1, read=1, parse=1, check=checks) == calls


@pytest.mark.parametrize(("text", "checks"), [(GRAPH, 1), (TREE, 0)])
async def test_a_server_reads_a_document_once_to_check_and_to_start_it(
    tmp_path, calls, text, checks
):
    settings = EmbeddedSettings(database=tmp_path / "onward.db")
    async with open_embedded_backend(settings) as backend:
        calls.clear()
        definition = await WorkflowService(backend).read(text)
        await backend.start(definition, None, "run_1")
        again = await WorkflowService(backend).read(text)
        assert again == definition
        await backend.start(again, None, "run_2")

    assert Counter(read=2, parse=2, check=2 * checks) == calls
