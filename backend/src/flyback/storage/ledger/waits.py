"""Nodes that wait for people in the runs inside theirs: the wait is over when one of these runs can move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sqlalchemy as sa

from flyback.domain.pause import Pause, PauseStatus
from flyback.domain.run import RunId, RunStatus
from flyback.storage import tables as t


def as_they_are(conn: sa.Connection, pauses: Sequence[Pause]) -> list[Pause]:
    """A pause that stands for sub-runs is over when one of these is not PAUSED any more."""
    return [
        replace(one, status=PauseStatus.ANSWERED) if one.ask.waits_for and any_moves(conn, one.ask.waits_for) else one
        for one in pauses
    ]


def any_moves(conn: sa.Connection, run_ids: Sequence[RunId]) -> bool:
    """Whether one of these runs is not PAUSED."""
    r = t.workflow_runs.c
    moving = sa.select(r.id).where(r.run_uuid.in_(run_ids), r.status != RunStatus.PAUSED.value)
    return conn.execute(moving.limit(1)).first() is not None
