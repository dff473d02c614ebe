"""Every scenario works in a laboratory of its own."""

import pytest

from conformance.embedded import EmbeddedLab


@pytest.fixture
async def lab(tmp_path):
    one = EmbeddedLab(tmp_path)
    yield one
    one.paths.undo()
