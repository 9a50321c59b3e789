"""Which restore points of a draft are kept: the newest ones, and of older ones one in ten minutes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

NEWEST_KEPT: Final = 50
KEPT_IN_ALL: Final = 200
_SLOT_LETTERS = len("2026-01-31T09:3")
"""The first letters of a time tell its ten minutes."""


def thinned(points: Sequence[tuple[int, str]]) -> Sequence[int]:
    """Return which of the unnamed points, given newest first as revision and time, are to go."""
    gone: list[int] = []
    slots: set[str] = set()
    for revision, created_at in points[NEWEST_KEPT:]:
        slot = created_at[:_SLOT_LETTERS]
        if slot in slots or len(slots) >= KEPT_IN_ALL - NEWEST_KEPT:
            gone.append(revision)
        slots.add(slot)
    return gone
