"""Answers to pauses, and pauses that nobody answered in time: one transaction each, the run's row locked first.

An answer to a run that is PAUSED gives it a new segment. A run that is still driven, or is about to be, is left alone: its
driver takes the answer up, so that no answer ever fences off work in progress. The first answer stays.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.domain import json_value
from flyback.domain.answering import Given, answered, has_expired
from flyback.domain.errors import NotFoundError
from flyback.domain.events import NewEvent
from flyback.domain.pause import APPROVE, SUB_RUN, Pause, PauseStatus
from flyback.domain.run import RunId, RunStatus
from flyback.domain.wire import time_on_wire
from flyback.engine import event_data
from flyback.storage import audit
from flyback.storage import tables as t
from flyback.storage.ledger.ending import append_events
from flyback.storage.ledger.inner import Settled, Standing, go_on, let_go_on, lock_line
from flyback.storage.row_values import PauseRow, read_pause


def answer(
    conn: sa.Connection,
    pause_id: str,
    given: Given,
    *,
    owner_id: str,
    by: str,
    actor_id: str,
    now: datetime,
    worker_id: str,
) -> Settled | None:
    """Store an answer; None where the pause has just expired instead, which is stored.

    Raises:
        NotFoundError: this owner has no such pause.
        PauseAnsweredError, PauseClosedError, InputInvalidError: the answer is not taken.
    """
    line = _lock(conn, pause_id, owner_id)
    pause = read_pauses(conn, [pause_id])[0]
    if has_expired(pause, now):
        _store(conn, line, replace(pause, status=PauseStatus.EXPIRED), event_data.pause_expired(pause), now, worker_id)
        return None
    settled = answered(pause, given, by=by, now=now)
    if settled is pause:
        return Settled(line[0].run_id, line[0].status, None)
    assert settled.reply is not None, "an answer was read"
    if settled.ask.kind == "approval":
        _audit(conn, line[-1], settled, actor_id, now)
    return _store(conn, line, settled, event_data.clarify_answered(settled, settled.reply, by), now, worker_id)


def expire(conn: sa.Connection, pause_id: str, *, now: datetime, worker_id: str) -> Settled | None:
    """End the wait for an answer that did not come in time; None where there is nothing to end."""
    line = _lock(conn, pause_id, None)
    pause = read_pauses(conn, [pause_id])[0]
    if not has_expired(pause, now):
        return None
    expired = replace(pause, status=PauseStatus.EXPIRED)
    return _store(conn, line, expired, event_data.pause_expired(pause), now, worker_id)


def due(conn: sa.Connection, now: datetime, run_id: RunId | None) -> Sequence[str]:
    """Return the open pauses, of one run or of all, that have been waited for long enough."""
    p, r = t.workflow_pauses.c, t.workflow_runs.c
    late = [p.status == PauseStatus.OPEN.value, p.expires_at.is_not(None), p.expires_at <= time_on_wire(now)]
    if run_id is not None:
        late.append(p.run_id == sa.select(r.id).where(r.run_uuid == run_id).scalar_subquery())
    return conn.execute(sa.select(p.id).where(*late).order_by(p.expires_at)).scalars().all()


def read_pauses(conn: sa.Connection, pause_ids: Collection[str]) -> list[Pause]:
    p = t.workflow_pauses.c
    query = sa.select(*(p[name] for name in PauseRow.__annotations__)).where(p.id.in_(pause_ids)).order_by(p.created_at)
    return [read_pause(row) for row in cast("Sequence[PauseRow]", conn.execute(query).all())]


def _lock(conn: sa.Connection, pause_id: str, owner_id: str | None) -> list[Standing]:
    """Lock the run of a pause, and those that it is inside of; it stands last. What is read of the pause afterwards is what the lock's last owner left."""
    r, p = t.workflow_runs.c, t.workflow_pauses.c
    key = sa.select(p.run_id).where(p.id == pause_id, p.kind != SUB_RUN).scalar_subquery()
    query = sa.select(r.run_uuid).where(r.id == key)
    if owner_id is not None:
        query = query.where(r.owner_id == owner_id)
    run_id = conn.execute(query).scalar_one_or_none()
    if run_id is None:
        raise NotFoundError(f"There is no question {pause_id[:100]!r}.", fix="See what waits for you: GET /api/pauses.")
    return lock_line(conn, RunId(run_id))


def _audit(conn: sa.Connection, run: Standing, pause: Pause, actor_id: str, now: datetime) -> None:
    """Note who let which call be made, or did not. What the call is given is bound by its hash, and not shown."""
    assert pause.reply is not None, "an approval was answered"
    calls = [question.call for question in pause.ask.questions if question.call is not None]
    state = pause.ask.state
    details: dict[str, JsonValue] = {
        "runId": run.run_id,
        "nodeId": pause.node_id,
        "tools": [call.name for call in calls],
        "hash": state.get("hash") if isinstance(state, dict) else None,
    }
    action = f"approval.{'approved' if pause.reply.action == APPROVE else 'denied'}"
    audit.record(conn, at=time_on_wire(now), actor_id=actor_id, action=action, subject=pause.pause_id, details=details)


def _store(
    conn: sa.Connection, line: Sequence[Standing], pause: Pause, event: NewEvent, now: datetime, worker_id: str
) -> Settled:
    p, run = t.workflow_pauses.c, line[-1]
    reply = pause.reply
    said = {
        "status": pause.status.value,
        "answers_json": None if reply is None else json_value.dumps(reply.on_wire()),
        "action": None if reply is None else reply.action,
        "answered_at": time_on_wire(pause.answered_at) if pause.answered_at else None,
        "answered_by": pause.answered_by,
    }
    conn.execute(sa.update(t.workflow_pauses).where(p.id == pause.pause_id).values(said))
    append_events(conn, run.key, run.last_event, [event], time_on_wire(now))
    if run.status is not RunStatus.PAUSED:
        return Settled(line[0].run_id, line[0].status, None, [run.run_id])
    segment = go_on(conn, run, worker_id)
    if run.inside is not None:
        return let_go_on(conn, line, RunStatus.PENDING, now, worker_id)
    return Settled(run.run_id, RunStatus.PENDING, segment, [run.run_id])
