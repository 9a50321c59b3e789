"""The database a test works on: each of both."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from flyback.storage.database import Database
from kit.databases import BOTH, new_url, opened


@pytest.fixture(params=BOTH)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return new_url(request.param, tmp_path)


@pytest.fixture
async def database(database_url: str) -> AsyncGenerator[Database]:
    async with opened(database_url) as database:
        yield database
