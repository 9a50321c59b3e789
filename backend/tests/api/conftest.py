"""The product behind its door, fresh for each test."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from kit.door import Door, open_door


@pytest.fixture
async def door(tmp_path: Path) -> AsyncGenerator[Door]:
    async with open_door(tmp_path) as opened:
        yield opened
