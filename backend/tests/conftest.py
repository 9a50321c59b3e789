"""What every test may use."""

from __future__ import annotations

import pytest
from hypothesis import settings

from kit.golden import add_option, golden

__all__ = ["golden"]

settings.register_profile("flyback", max_examples=60, deadline=None, database=None, print_blob=True)
settings.register_profile("long", settings.get_profile("flyback"), max_examples=10_000)
settings.load_profile("flyback")


def pytest_addoption(parser: pytest.Parser) -> None:
    add_option(parser)
    parser.addoption("--long", action="store_true", help="the long versions of the tests that search at random")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--long"):
        settings.load_profile("long")


@pytest.fixture(scope="session")
def is_long(request: pytest.FixtureRequest) -> bool:
    """Whether a test that searches at random takes its time."""
    return bool(request.config.getoption("--long"))
