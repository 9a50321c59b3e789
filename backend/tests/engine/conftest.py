"""What the engine's tests may use."""

from __future__ import annotations

import pytest

from kit.studio import Studio


@pytest.fixture
async def studio() -> Studio:
    return Studio()
