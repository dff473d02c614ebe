"""Contexts too large for a message, where they meet again."""

import pytest

from support.documents import TRIGGER, node, transform, workflow
from support.harness import Lab

ENTRY = 30_000
"""Below what is stored by itself: it takes 18 of these to make a context that is stored whole."""


@pytest.mark.parametrize(
    "length", [18, 20], ids=["stored on the edge to the merge", "stored before"]
)
async def test_nothing_is_lost_when_two_large_contexts_meet_at_a_merge(tmp_path, length):
    chains = [[f"{side}{index}" for index in range(length)] for side in "ab"]
    names = [name for chain in chains for name in chain]

    ended = await Lab(tmp_path).run(
        workflow(
            TRIGGER,
            *(transform(name, f'"x" * {ENTRY}') for name in names),
            node("meet", "merge", mode="append", wait_mode="wait_for_all"),
            *(" -> ".join(["start", *chain, "meet"]) for chain in chains),
        )
    )

    assert [ENTRY, ENTRY] == [len(text or "") for text in ended.output("meet")]
    assert [] == [name for name in names if ended.output(name) is None]
