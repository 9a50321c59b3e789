"""Forks for processes that may be killed: made of a stored run, as a person asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast
from uuid import uuid4

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.domain.graph import NodeId
from flyback.domain.json_value import loads
from flyback.domain.run import RunId, VisitId
from flyback.domain.workspace import edited_writers
from flyback.engine.log import Forced
from flyback.storage import tables as t
from flyback.storage.ledger import Fork, NewRun


def forked(conn: sa.Connection, run: NewRun, given: Mapping[str, JsonValue]) -> NewRun:
    """Make a run a fork: `given` is `{of, after, next?, variables?}`, the last shared visit by its `sortOrder`."""
    v, r = t.workflow_run_visits.c, t.workflow_runs.c
    origin = conn.execute(sa.select(r.id).where(r.run_uuid == given["of"])).scalar_one()
    after = cast("int", given["after"])
    where = (v.run_id == origin, v.sort_order <= after)
    shared = conn.execute(sa.select(v.visit_uuid, v.writers_json).where(*where).order_by(v.sort_order)).all()
    edits = cast("Mapping[str, JsonValue]", given.get("variables", {}))
    wanted = cast("str | None", given.get("next"))
    return replace(
        run,
        parent_run_id=RunId(cast("str", given["of"])),
        options=replace(run.options, forced=Forced(after, NodeId(wanted), "") if wanted is not None else None),
        fork=Fork(
            origin=origin,
            visit_id=VisitId(shared[-1].visit_uuid),
            shared={VisitId(row.visit_uuid): VisitId(str(uuid4())) for row in shared},
            edits=edits,
            writers=edited_writers(cast("Mapping[str, int]", loads(shared[-1].writers_json)), edits),
        ),
    )
