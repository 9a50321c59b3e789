"""What the scripted model was asked, against what the tables hold: whether a step that was stored was done again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa

from flyback.providers.scripted import ScriptedCall, read_journal
from flyback.storage import tables as t


def recorded_keys(conn: sa.Connection) -> set[str]:
    """The keys of every call that is stored."""
    s, r = t.workflow_visit_steps.c, t.workflow_runs.c
    found = sa.select(r.run_uuid, s.visit_uuid, s.node_id, s.role, s.n).join(t.workflow_runs, r.id == s.run_id)
    found = found.where(s.kind != "journal")
    return {f"{row.run_uuid}/{row.visit_uuid or row.node_id}/{row.role}-{row.n}" for row in conn.execute(found)}


def wait_for_calls(journal: Path, count: int) -> None:
    """Return when another process has begun so many calls."""
    while len(begun(journal)) < count:
        time.sleep(0.01)


def wait_for_runs(journal: Path, count: int) -> None:
    """Return when so many runs have begun a call in another process."""
    while len({call.run_id for call in begun(journal)}) < count:
        time.sleep(0.01)


def begun(journal: Path) -> Sequence[ScriptedCall]:
    """Every call that the model has seen begin, in order, also those that a kill interrupted."""
    return read_journal(journal)
