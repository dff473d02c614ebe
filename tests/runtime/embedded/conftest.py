"""Every engine test works in a laboratory of its own."""

import pytest

from support.harness import Lab


@pytest.fixture
async def lab(tmp_path):
    return Lab(tmp_path)
