"""The tree on the kernel: how many messages it costs, and what a second delivery comes to."""

import json
import sqlite3
from contextlib import closing

import pytest

from languages.serverless.lab import TreeLab, error_in, output_of, workflow
from onward.adapters.sqlite.journal import SqliteJournal
from onward.kernel.effects import Publish
from onward.kernel.messages import encode_message
from onward.kernel.outcome import Arrived
from onward.languages.serverless import program as module
from onward.languages.serverless.run.walk import MOST_TASKS
from onward.runtime.token.pipeline import perform
from onward.simulation.world import CALM, World
from support.documents import TRIGGER, node
from support.documents import workflow as graph

GET = {"call": "http", "with": {"method": "get", "endpoint": "http://pets/1"}}


def messages(lab):
    """Return how many messages the run was: each is told when it is taken up."""
    return len({new.token_id for new in lab.news if hasattr(new, "token_id")})


async def test_ten_tasks_and_an_activity_are_one_message(lab):
    lab.services.answer("GET", "http://pets/1", {"n": 0})
    more = [{f"s{i}": {"set": {"n": "${ .n + 1 }"}}} for i in range(10)]

    ended = await lab.run(workflow(*more[:5], {"get": GET}, *more[5:]), {"n": 0})

    assert {"n": 5} == output_of(ended)
    assert 1 == messages(lab)


async def test_each_activity_is_a_message(lab):
    lab.services.answer("GET", "http://pets/1", {"n": 0})
    tasks = [{f"get{i}": GET} for i in range(4)]

    await lab.run(workflow(*tasks))

    assert 4 == messages(lab)


class Handled:
    """A path that is walked by hand, message by message."""

    def __init__(self, lab, document, given):
        self.program = lab.program(document)
        (self.token,), payloads = self.program.start("x", given, now_ms=1000)
        self.stored = {payload.ref.hash: bytes(payload.body) for payload in payloads}

    def view(self):
        context = self.token.context
        view = {name[1:]: json.loads(bytes(raw)) for name, raw in context.inline.items()}
        view |= {name[1:]: json.loads(self.stored[ref.hash]) for name, ref in context.refs.items()}
        return view

    def step(self):
        """Handle the token; the one it publishes is the next."""
        assert Arrived() == self.program.step(self.token, self.view())
        published = []

        def do(effect):
            if isinstance(effect, Publish):
                published.append(effect.token)
            elif hasattr(effect, "payload"):
                self.stored[effect.payload.ref.hash] = bytes(effect.payload.body)

        perform(self.program.settle(self.token, Arrived(), now_ms=2000, dice=0), do)
        (self.token,) = published


def test_a_long_loop_neither_grows_its_messages_nor_stores_its_items_again(lab):
    from msgspec import Raw

    body = {"set": {"n": "${ .n + 1 }"}}
    loop = {"for": {"in": "[range(100000)]"}, "do": [{"add": body}]}
    path = Handled(lab, workflow({"loop": loop}), Raw(b'{"n":0}'))
    path.step()  # making the list is all that this message does
    path.step()
    first, kept = len(encode_message(path.token)), len(path.stored)
    for _ in range(20):
        path.step()

    assert len(encode_message(path.token)) <= first + 30  # a few more digits
    assert kept == len(path.stored) == 1


async def test_a_walk_that_was_forgotten_is_walked_again(lab, monkeypatch):
    monkeypatch.setattr(module, "MOST_WALKS", 0)
    lab.services.answer("GET", "http://pets/1", {"n": 1})
    fork = {"fork": {"branches": [{"a": GET}, {"b": {"wait": "PT1S"}}]}}

    ended = await lab.run(workflow({"s": {"set": {"big": "${ [range(20000)] }"}}}, {"f": fork}))

    assert {"n": 1} == output_of(ended)[0]
    assert 20_000 == len(output_of(ended)[1]["big"])


EVERYTHING = workflow(
    {"first": {"set": {"n": 0, "log": []}, "export": {"as": "{seen: []}"}}},
    {
        "loop": {
            "for": {"each": "x", "in": "[1, 2, 3]"},
            "do": [
                {"pause": {"wait": "PT1S"}},
                {"get": {**GET, "output": {"as": "{n: ($input.n + .n * $x)}"}}},
                {"keep": {"set": "${ . }", "export": {"as": "{seen: ($context.seen + [.n])}"}}},
            ],
        }
    },
    {
        "attempt": {
            "try": [
                {
                    "both": {
                        "fork": {
                            "branches": [
                                {"a": {"do": [{"w": {"wait": "PT2S"}}, {"g": GET}]}},
                                {"b": {"timeout": {"after": "PT9S"},
                                       "do": [{"v": {"wait": "PT5S"}}]}},
                                {"c": {"fork": {"compete": True, "branches": [
                                    {"c1": {"wait": "PT1H"}}, {"c2": {"set": {"won": True}}}]}}},
                            ]
                        }
                    }
                },
                {"bad": {"raise": {"error": {"type": "https://example.com/e", "status": 503}}}},
            ],
            "catch": {
                "retry": {"delay": "PT10S", "backoff": {"linear": {}},
                          "limit": {"attempt": {"count": 2}}},
                "do": [{"handle": {"set": {"n": "${ .n }", "status": "${ $error.status }"}}}],
            },
        }
    },
    {"last": {"set": {"n": "${ .n }", "status": "${ .status }", "seen": "${ $context.seen }"}}},
)  # fmt: skip
CAME_TO = {"n": 60, "status": 503, "seen": [10, 30, 60]}


class Photographer(SqliteJournal):
    """A journal that keeps a copy of the file after every commit."""

    def __init__(self, path, album, clock):
        super().__init__(path)
        self._path = path
        self._album = album
        self._clock = clock

    def commit(self, batch):
        super().commit(batch)
        number = len(list(self._album.iterdir()))
        copy = self._album / f"{number:03d}-{self._clock.now}.db"
        with closing(sqlite3.connect(self._path)) as db, closing(sqlite3.connect(copy)) as out:
            db.backup(out)


async def test_a_run_can_die_after_any_commit_and_ends_the_same(lab, tmp_path):
    album = tmp_path / "album"
    album.mkdir()
    lab.open_journal = lambda path: Photographer(path, album, lab.clock)
    lab.services.answer("GET", "http://pets/1", {"n": 10})
    whole = await lab.run(EVERYTHING)
    assert CAME_TO == output_of(whole)

    pictures = sorted(album.iterdir())[:-1]
    assert len(pictures) > 15
    for picture in pictures:
        again = TreeLab(picture.parent)
        again.services.answer("GET", "http://pets/1", {"n": 10})
        again.path, again.clock.now = picture, int(picture.stem.partition("-")[2])
        resumed = await again.resume(whole.execution_id)
        assert CAME_TO == output_of(resumed)
        assert {(one.token_id, one.node_id) for one in whole.history} == {
            (one.token_id, one.node_id) for one in resumed.history
        }


async def test_both_languages_run_on_one_engine(tmp_path):
    from support.harness import Lab

    lab = TreeLab(tmp_path)
    other = Lab(tmp_path / "other")
    async with lab.engine() as engine:
        tree = await lab.start(engine, workflow({"a": {"set": {"n": 1}}}))
        drawn = other.program(graph(TRIGGER, node("n", "noop"), "start -> n"))
        run = await engine.start(drawn, drawn.document.source, None)
        assert {"n": 1} == output_of(await lab.finish(engine, tree))
        assert "completed" == (await lab.finish(engine, run)).status


@pytest.mark.parametrize("given", [None, 5, "text", [], {"deep": [{"er": 1}]}])
async def test_any_json_is_an_input(lab, given):
    document = workflow({"a": {"switch": [{"all": {"then": "continue"}}]}})

    assert given == output_of(await lab.run(document, given))


async def test_of_a_limit_and_a_wait_that_are_both_over_the_earlier_counts(lab):
    limited = {"timeout": {"after": "PT20S"}, "do": [{"x": {"wait": "PT25S"}}]}
    lab.clock.hold()
    async with lab.engine() as engine:
        run = await lab.start(engine, workflow({"b": limited}))
        await lab.book.until(lambda: any(new.status == "waiting" for new in lab.news))
    lab.clock.now += 3_600_000  # nobody served the run for an hour
    lab.clock.release()

    assert 408 == error_in(await lab.resume(run)).status


def test_a_loop_of_twenty_thousand_is_a_few_small_messages_from_its_first_to_its_last(lab):
    sizes = []

    class Weighed(World):
        def _publish(self, token):
            sizes.append(len(encode_message(token)))
            super()._publish(token)

    loop = {"for": {"in": "[range(20000)]"}, "do": [{"add": {"set": {"n": "${ .n + 1 }"}}}]}
    world = Weighed(lab.program(workflow({"loop": loop})), None, 1, CALM)

    (ended,) = world.run({"n": 0}).completions

    assert b'{"n":20000}' == bytes(ended.final_context["$output"])
    assert 20_000 / MOST_TASKS + 1 == len(sizes)
    assert max(sizes) < 1000
    assert 1 == len(world.payloads)  # the items, once


async def test_an_output_that_fails_after_a_catch_ended_the_workflow_is_an_error_of_the_run(lab):
    """A caught error may end the workflow, and then the workflow's own output may be wrong."""
    attempt = {
        "try": [{"bad": {"raise": {"error": {"type": "https://example.com/bad", "status": 400}}}}],
        "catch": {"then": "end"},
    }
    schema = {"schema": {"document": {"type": "object", "required": ["missing"]}}}

    ended = await lab.run(workflow({"s": {"set": {"n": 1}}}, {"t": attempt}, output=schema))

    assert "/output" == error_in(ended).instance
