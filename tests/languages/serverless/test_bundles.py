"""What a document takes from files and pages, before it runs."""

import json

import pytest

from languages.serverless.lab import workflow
from onward.adapters.host.document_files import FetchError, fetch
from onward.bootstrap.languages import compile_source, examine
from onward.errors import DefinitionError
from onward.languages.serverless.read.document import parse_definition


@pytest.fixture
def catalog(tmp_path):
    folder = tmp_path / "catalog" / "functions" / "greet" / "1.0.0"
    folder.mkdir(parents=True)
    (folder / "function.yaml").write_text('set: {text: "hello"}\n')
    return tmp_path / "catalog"


def written(path, document):
    path.write_text(json.dumps(document))
    return path.read_bytes(), str(path)


def calling(endpoint):
    use = {"catalogs": {"mine": {"endpoint": endpoint}}}
    return workflow({"a": {"call": "greet:1.0.0@mine"}}, use=use)


def test_a_catalog_in_a_folder_beside_the_document(tmp_path, catalog):
    source, file = written(tmp_path / "flow.json", calling("catalog/"))

    program = compile_source(source, file=file)

    functions = json.loads(program.document.source)["use"]["functions"]
    assert {"greet:1.0.0@mine": {"set": {"text": "hello"}}} == functions


def test_a_catalog_by_its_file_url(tmp_path, catalog):
    source, file = written(tmp_path / "flow.json", calling(catalog.as_uri()))

    _, problems = examine(source, file)

    assert () == problems


def test_what_was_bundled_is_compiled_again_without_fetching(tmp_path, catalog):
    source, file = written(tmp_path / "flow.json", calling("catalog"))
    bundled = compile_source(source, file=file).document.source
    (catalog / "functions" / "greet" / "1.0.0" / "function.yaml").unlink()

    assert bundled == compile_source(bundled).document.source


def test_a_document_that_is_no_file_fetches_nothing(catalog):
    with pytest.raises(DefinitionError, match="nothing is fetched here"):
        parse_definition(calling(catalog.as_uri()))


def test_a_file_that_is_not_there_is_named(tmp_path):
    source, file = written(tmp_path / "flow.json", calling("elsewhere"))

    _, problems = examine(source, file)

    told = next(problem for problem in problems if problem.code == "NOT_FETCHED")
    assert "No such file" in told.message
    assert "/do/0/a/call" == told.pointer


def test_functions_without_end_are_given_up(tmp_path, monkeypatch):
    def more(uri):
        number = int(uri.rpartition("/")[2] or 0)
        return json.dumps({"call": f"https://example.com/{number + 1}"})

    monkeypatch.setattr("onward.bootstrap.serverless_documents.gather.__defaults__", (more,))
    document = workflow({"a": {"call": "https://example.com/0"}})
    source, file = written(tmp_path / "flow.json", document)

    _, problems = examine(source, file)

    assert any("too much from outside" in problem.message for problem in problems)


def test_a_large_file_is_not_read_to_its_end(tmp_path):
    large = tmp_path / "large.yaml"
    large.write_bytes(b"x" * (1024 * 1024 + 1))

    with pytest.raises(FetchError, match="larger than"):
        fetch(large.as_uri())


def test_a_page_that_nobody_serves_is_an_error():
    with pytest.raises(FetchError):
        fetch("http://127.0.0.1:1/function.yaml")
