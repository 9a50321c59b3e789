"""The ledger's side of runs inside runs: starting, taking over and closing them, and waiting for what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from typing import Any, TypeVar, cast

import sqlalchemy as sa
from pydantic import JsonValue

from flyback.domain import json_value
from flyback.domain.errors import StateCorruptError
from flyback.domain.graph import NodeId
from flyback.domain.run import NO_USAGE, Mode, RunId, RunOutput, RunStatus, Usage, VisitId, WorkflowId
from flyback.domain.wire import time_on_wire
from flyback.engine.failpoints import hit
from flyback.engine.log import Callee, Inputs, Inside, RunState, SubRun, SubRunLog
from flyback.storage import tables as t
from flyback.storage.decode import DamagedError, read_error, read_object, read_options, read_run_usage
from flyback.storage.ledger.driven import LISTEN_SECONDS
from flyback.storage.ledger.inner import close_place, lock_driver, of_place, tell
from flyback.storage.ledger.ledger import Ledger
from flyback.storage.ledger.new_run import NewRun, accept
from flyback.storage.ledger.state import read_graph_of, read_state
from flyback.storage.ledger.waits import any_moves

T = TypeVar("T")

_DRIVABLE = (RunStatus.PENDING.value, RunStatus.RUNNING.value)
_SEEN = ("run_uuid", "item_index", "status", "outputs_json", "error_json", "usage_json")


class SubRunLedger(SubRunLog):
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._database = ledger.database

    async def of_place(self, run_id: RunId, node_id: NodeId, visit_id: VisitId | None) -> Sequence[SubRun]:
        r = t.workflow_runs.c
        query = sa.select(*(r[name] for name in _SEEN)).where(*of_place(run_id, node_id, visit_id))
        return await self._read(lambda conn: [_seen(row) for row in conn.execute(query.order_by(r.item_index))])

    async def find(self, run_id: RunId) -> SubRun:
        r = t.workflow_runs.c
        query = sa.select(*(r[name] for name in _SEEN)).where(r.run_uuid == run_id)
        return await self._read(lambda conn: _seen(conn.execute(query).one()))

    async def callee(self, run_id: RunId) -> Callee:
        r = t.workflow_runs.c
        columns = (r.graph_data, r.mode, r.options_json, r.workflow_id, r.workflow_name, r.version)

        def work(conn: sa.Connection) -> Callee:
            row = conn.execute(sa.select(*columns).where(r.run_uuid == run_id)).one()
            return Callee(
                read_graph_of(row.graph_data),
                Mode(row.mode),
                read_options(row.options_json),
                WorkflowId(row.workflow_id) if row.workflow_id else None,
                row.workflow_name,
                row.version,
            )

        return await self._read(work)

    async def start(self, run_id: RunId, owner_id: str, callee: Callee, inputs: Inputs, inside: Inside) -> None:
        now = self._ledger.clock.now()
        run = NewRun(
            run_id=run_id,
            owner_id=owner_id,
            mode=callee.mode,
            graph=callee.graph,
            inputs=inputs,
            options=callee.options,
            workflow_id=callee.workflow_id,
            workflow_name=callee.workflow_name,
            version=callee.version,
            inside=inside,
        )

        def work(conn: sa.Connection) -> None:
            hit("sub_run.before")
            outer = lock_driver(conn, inside.parent_run_id, inside.parent_epoch)
            r = t.workflow_runs.c
            if conn.execute(sa.select(r.id).where(r.run_uuid == run_id)).first() is None:  # else a reply was lost
                accept(conn, run, worker_id=self._ledger.worker_id, now=now, redactor=self._ledger.redactor)
                tell(conn, outer, run_id, inside, RunStatus.RUNNING, now)
            hit("sub_run.stored")

        await self._write(work)
        hit("sub_run.after")
        self._ledger.changed(inside.parent_run_id)

    async def take_over_inside(self, run_id: RunId, inside: Inside) -> RunState | None:
        now = self._ledger.clock.now()
        r = t.workflow_runs.c

        def work(conn: sa.Connection) -> int | None:
            lock_driver(conn, inside.parent_run_id, inside.parent_epoch)
            taken = (
                sa.update(t.workflow_runs)
                .where(r.run_uuid == run_id, r.status.in_(_DRIVABLE))
                .values(
                    epoch=r.epoch + 1,
                    status=RunStatus.RUNNING.value,
                    worker_id=self._ledger.worker_id,
                    started_at=sa.func.coalesce(r.started_at, time_on_wire(now)),
                )
                .returning(r.epoch)
            )
            return conn.execute(taken).scalar_one_or_none()

        epoch = await self._write(work)
        hit("take_over_inside.after")
        if epoch is None:
            return None
        try:
            state = await self._read(lambda conn: read_state(conn, run_id, epoch))
        except DamagedError as damage:
            raise await self._ledger.end_corrupt(run_id, epoch, damage) from damage
        return None if state is None else replace(state, inside=inside)

    def let_go(self, run_id: RunId) -> None:
        self._ledger.let_go(run_id)

    async def close(self, parent: RunState, node_id: NodeId, visit_id: VisitId | None) -> Usage:
        now = self._ledger.clock.now()
        query = sa.select(t.workflow_runs.c.usage_json).where(*of_place(parent.run_id, node_id, visit_id))

        def work(conn: sa.Connection) -> list[str | None]:
            hit("sub_runs.close.before")
            outer = lock_driver(conn, parent.run_id, parent.epoch)
            close_place(conn, outer, node_id, visit_id, now)
            return list(conn.execute(query).scalars())

        used = await self._write(work)
        hit("sub_runs.close.after")
        self._ledger.changed(parent.run_id)
        return reduce(Usage.plus, (read_run_usage(text).total for text in used), NO_USAGE)

    async def ended(self, run_id: RunId) -> None:
        r = t.workflow_runs.c
        asked = sa.select(r.status).where(r.run_uuid == run_id)
        await self._until([run_id], lambda conn: RunStatus(conn.execute(asked).scalar_one()).ended)

    async def woken(self, run_ids: Collection[RunId]) -> None:
        await self._until(run_ids, lambda conn: any_moves(conn, list(run_ids)))

    async def _until(self, run_ids: Collection[RunId], is_so: Callable[[sa.Connection], bool]) -> None:
        """Wait for something that is done to these runs: here it is heard at once, elsewhere within a second."""
        with self._ledger.ear.listen(run_ids) as heard:
            while True:
                heard.clear()
                if await self._read(is_so):
                    return
                with suppress(TimeoutError):
                    await asyncio.wait_for(heard.wait(), LISTEN_SECONDS)

    async def _read(self, work: Callable[[sa.Connection], T]) -> T:
        """Raises StateCorruptError."""

        def reading(conn: sa.Connection) -> T:
            try:
                return work(conn)
            except DamagedError as damage:
                what = f"What is stored of a run inside this one cannot be read: {damage}."
                raise StateCorruptError(what, fix="Start the run again.") from damage

        return await self._database.persist(lambda: self._database.read(reading))

    async def _write(self, work: Callable[[sa.Connection], T]) -> T:
        return await self._database.persist(lambda: self._database.write(work))


def _seen(row: sa.Row[Any]) -> SubRun:
    outputs = json_value.loads(row.outputs_json) if row.outputs_json else []
    error = read_object(row.error_json, "a run's error") if row.error_json else None
    return SubRun(
        RunId(row.run_uuid),
        row.item_index,
        RunStatus(row.status),
        [_output(wire) for wire in cast("Sequence[Mapping[str, JsonValue]]", outputs)],
        None if error is None else read_error(error),
        read_run_usage(row.usage_json).total,
    )


def _output(wire: Mapping[str, JsonValue]) -> RunOutput:
    unresolved = cast("Sequence[str]", wire.get("unresolved", ()))
    return RunOutput(cast("str", wire["nodeId"]), wire["result"], tuple(unresolved))
