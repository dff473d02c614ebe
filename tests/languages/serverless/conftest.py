"""Every test of the language works in a laboratory of its own."""

import pytest

from languages.serverless.lab import TreeLab


@pytest.fixture
async def lab(tmp_path):
    one = TreeLab(tmp_path)
    yield one
    one.paths.undo()
