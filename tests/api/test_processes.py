"""The API from the command line: `onward dev` as a process, killed and started again."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from api.documents import chain, waiting

PATIENCE_S = 120


def onward(*words, cwd, **environment):
    code = "from onward.cli.main import main; main()"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ONWARD_")}
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=cwd,
        env={**kept, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def url_of(process):
    """Return where a server says it is."""
    for line in process.stderr:
        if found := re.search(r"http://[0-9.:]+", line):
            return f"{found[0]}/api/v1"
    pytest.fail("it ended without saying where it is")


def ask(url, given=None):
    headers = {"content-type": "application/json"} if given is not None else {}
    body = json.dumps(given).encode() if given is not None else None
    request = urllib.request.Request(url, data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def ended(api, run):
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        found = ask(f"{api}/runs/{run}")
        if found["ended_at"]:
            return found
        time.sleep(0.05)
    return pytest.fail("the run did not end")


def finish(process, number):
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, err


def test_a_run_goes_on_when_the_server_was_killed(tmp_path):
    first = onward("dev", "--listen", "0", cwd=tmp_path)
    api = url_of(first)
    run = ask(f"{api}/runs", {"definition": waiting(seconds=1)})["execution_id"]
    finish(first, signal.SIGKILL)

    second = onward("dev", "--listen", "127.0.0.1:0", cwd=tmp_path)
    api = url_of(second)
    result = ended(api, run)
    events = ask(f"{api}/runs/{run}/events")["items"]
    code, err = finish(second, signal.SIGTERM)

    assert "completed" == result["status"]
    assert list(range(1, len(events) + 1)) == [event["seq"] for event in events]
    assert "run.ended" == events[-1]["type"]
    assert (0, "") == (code, err)


def test_with_a_token_from_the_environment_it_serves_nobody_else(tmp_path):
    server = onward("dev", "--listen", "0", cwd=tmp_path, ONWARD_TOKEN="a-token-of-some-length")
    api = url_of(server)

    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(f"{api}/runs")
    refused.value.close()
    finish(server, signal.SIGINT)

    assert 401 == refused.value.code


def test_masters_serve_one_api(tmp_path, rabbitmq_url, redis_url, postgres_url):
    places = {
        "ONWARD_RABBITMQ_URL": rabbitmq_url,
        "ONWARD_REDIS_URL": redis_url,
        "ONWARD_POSTGRES_URL": postgres_url,
    }
    masters = [onward("master", "--listen", "0", cwd=tmp_path, **places) for _ in range(2)]
    worker = onward("worker", cwd=tmp_path, **places)
    here, there = map(url_of, masters)

    ask(f"{here}/workflows", {"definition": chain()})
    given = {"workflow_id": "hello", "input": {"name": "Ada"}}
    run = ask(f"{there}/runs", given)["execution_id"]
    result = ended(here, run)
    mode = ask(f"{there}/server")["mode"]
    codes = [finish(one, signal.SIGTERM)[0] for one in (*masters, worker)]

    assert ("completed", {"text": "Hello, Ada"}) == (result["status"], result["output"])
    assert "distributed" == mode
    assert [0, 0, 0] == codes


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--listen", "0.0.0.0:0"], "set ONWARD_TOKEN"),
        (["--listen", "example.com:80"], "write an IP address"),
        (["--listen", "127.0.0.1:http"], "write HOST:PORT"),
        (["--listen", "192.0.2.1:0", "--token", "a-token-of-some-length"], "cannot listen on"),
        (["--listen", "0", "--token", "short"], "too short"),
    ],
)
def test_an_address_that_cannot_be_served_is_refused_in_one_line(tmp_path, words, said):
    process = onward("dev", *words, cwd=tmp_path)
    out, err = process.communicate(timeout=PATIENCE_S)

    assert (2, "") == (process.returncode, out)
    assert 1 == len(err.splitlines())
    assert said in err


def test_a_run_from_the_command_line_never_loads_the_server(tmp_path):
    (tmp_path / "hello.json").write_text(json.dumps(chain()))
    code = (
        "import sys; from onward.cli.main import _run;"
        "_run(['run', 'hello.json', '-i', 'name=Ada', '-q']);"
        "print(sorted({'fastapi', 'starlette', 'uvicorn', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert "[]" == done.stdout.splitlines()[-1]
