"""Failpoints are inert unless they are asked for, and then do what was asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flyback.domain.errors import StorageBusyError, StorageFullError
from flyback.engine import failpoints
from flyback.engine.failpoints import FailpointError, hit


@pytest.fixture(autouse=True)
def _inert_afterwards() -> Iterator[None]:
    yield
    failpoints.arm("")


def test_a_point_that_nobody_named_does_nothing() -> None:
    failpoints.arm("visit.stored=raise")
    hit("visit.before")


@pytest.mark.parametrize(
    ("action", "error"), [("raise", FailpointError), ("enospc", StorageFullError), ("busy", StorageBusyError)]
)
def test_a_named_point_fails_as_it_was_told(action: str, error: type[Exception]) -> None:
    failpoints.arm(f"visit.stored={action}")
    with pytest.raises(error, match=r"visit\.stored"):
        hit("visit.stored")


def test_a_point_with_a_number_fails_that_time_alone() -> None:
    failpoints.arm("visit.stored=raise@2, sleepy=sleep:0")
    hit("visit.stored")
    with pytest.raises(FailpointError):
        hit("visit.stored")
    hit("visit.stored")
    hit("sleepy")


def test_a_star_counts_all_points_together() -> None:
    failpoints.arm("*=raise@3")
    hit("one")
    hit("two")
    with pytest.raises(FailpointError, match="three"):
        hit("three")


@pytest.mark.parametrize("text", ["visit.stored", "visit.stored=explode", "=kill", "a=kill@x", "a=sleep:soon"])
def test_an_order_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not of the form"):
        failpoints.arm(text)
