"""Processes to kill, and databases for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.durable import Processes


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    with Processes() as started:
        yield started
