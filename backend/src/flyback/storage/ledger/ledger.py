"""The run ledger: fenced, numbered, whole steps on SQLite or PostgreSQL.

Whoever accepts, cancels or hands back a run does it here too, each in one transaction that locks the run's row first.
After a commit the run's readers are woken.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, cast

import sqlalchemy as sa

from flyback.domain.answering import Given, has_expired
from flyback.domain.errors import NotFoundError, PauseClosedError, RecoveryExhaustedError, StateCorruptError
from flyback.domain.events import EventType, StoredEvent
from flyback.domain.pause import Pause
from flyback.domain.redaction import Redactor
from flyback.domain.run import ErrorInfo, RunId, RunStatus
from flyback.domain.wire import time_on_wire
from flyback.engine import event_data
from flyback.engine.failpoints import hit
from flyback.engine.log import (
    AnsweredError,
    CallRecord,
    Commit,
    FencedError,
    Inside,
    OpenRun,
    RunEnd,
    RunLog,
    RunState,
)
from flyback.engine.ports import Clock
from flyback.storage import tables as t
from flyback.storage import workers
from flyback.storage.database import Database
from flyback.storage.decode import DamagedError
from flyback.storage.hub import Hub
from flyback.storage.ledger.answers import answer, due, expire, read_pauses
from flyback.storage.ledger.calls import leave_calls
from flyback.storage.ledger.ear import Ear
from flyback.storage.ledger.ending import end_inside, path_of
from flyback.storage.ledger.inner import Settled, end_and_tell, lock_driver, tell
from flyback.storage.ledger.new_run import NewRun, accept
from flyback.storage.ledger.postgres import store as store_on_postgres
from flyback.storage.ledger.postgres import store_within
from flyback.storage.ledger.rows import CommitRows, kind_of, rows_of
from flyback.storage.ledger.sqlite import store as store_on_sqlite
from flyback.storage.ledger.state import read_state
from flyback.storage.ledger.suspects import Suspects
from flyback.storage.ledger.waits import as_they_are

if TYPE_CHECKING:  # loaded only where PostgreSQL is used
    from psycopg import Connection

MAX_DEATHS = 5
LISTEN_SECONDS = 1.0
"""How often a driver looks for what another process did to its runs."""
_DRIVABLE = (RunStatus.PENDING.value, RunStatus.RUNNING.value)

Enqueue = Callable[[sa.Connection, RunId, int], None]
"""Puts a segment of a run into the queue, in the transaction of the connection."""


class Ledger(RunLog):
    """The ledger of one process; `worker_id` is its name for as long as it lives. What `redactor` knows is never stored."""

    def __init__(
        self, database: Database, hub: Hub, *, clock: Clock, worker_id: str, redactor: Redactor | None = None
    ) -> None:
        self.database = database
        self.redactor = redactor or Redactor()
        self._hub = hub
        self.clock = clock
        self._suspects = Suspects()
        self.worker_id = worker_id
        self.ear = Ear()
        """Hears of answers and of ends that no driver wrote."""

    # What a driver does.

    async def take_over(self, run_id: RunId, segment: int) -> RunState | None:
        now = self.clock.now()

        def work(conn: sa.Connection) -> tuple[int, int] | None:
            hit("take_over.before")
            taken = _take(conn, run_id, segment, self.worker_id, now)
            hit("take_over.stored")
            return taken

        taken = await self.database.persist(lambda: self.database.write(work))
        hit("take_over.after")
        if taken is None:
            return None
        epoch, deaths = taken
        if deaths >= MAX_DEATHS:
            await self._end_exhausted(run_id, epoch)
            return None
        if deaths:
            self._suspects.add(run_id)
        else:
            self._suspects.clear(run_id)
        try:
            return await self.database.persist(lambda: self.database.read(lambda conn: read_state(conn, run_id, epoch)))
        except DamagedError as damage:
            raise await self.end_corrupt(run_id, epoch, damage) from damage

    async def settled(self, run_id: RunId, pauses: Collection[Pause], *, wait: bool) -> Sequence[Pause]:
        """Answers given in this process are heard at once, others within a second. Pauses that are due expire here too."""
        with self.ear.listen([run_id, *(inner for pause in pauses for inner in pause.ask.waits_for)]) as heard:
            while True:
                heard.clear()
                found = await self.database.persist(lambda: self.database.read(lambda conn: _as_stored(conn, pauses)))
                over = [pause for pause in found if pause.is_settled]
                if over or not wait:
                    return over
                for pause in found:
                    if has_expired(pause, self.clock.now()):
                        await self._expire(pause.pause_id)
                        break
                else:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(heard.wait(), LISTEN_SECONDS)

    async def begin_step(self, state: RunState) -> None:
        if not self._suspects.holds(state.run_id):
            return
        await self._suspects.wait_turn(state.run_id)
        await self.database.persist(lambda: self.database.write(lambda conn: _mark_begun(conn, state)))

    async def leave_calls(self, run_id: RunId, epoch: int, calls: Sequence[CallRecord]) -> None:
        def work(conn: sa.Connection) -> None:
            leave_calls(conn, run_id, epoch, calls)

        await self.database.persist(lambda: self.database.write(work))

    async def commit(self, commit: Commit) -> None:
        hit(f"{kind_of(commit)}.before")
        rows = rows_of(commit, self.clock.now(), self.redactor)
        try:
            stored = await self.database.persist(lambda: self._store(commit, rows))
            if not stored:
                await self._refuse_unless_stored(rows)
        finally:
            if commit.is_progress:
                self._suspects.clear(commit.run_id)
        hit(f"{rows.kind}.after")
        self._hub.committed(commit)
        if commit.inside is not None:
            await self._tell_outer(commit, commit.inside)

    def let_go(self, run_id: RunId) -> None:
        """Say that this process does not drive the run any more, however it ended."""
        self._suspects.clear(run_id)
        self._hub.ended(run_id)

    # What everybody else does to a run.

    def accept_in(self, conn: sa.Connection, run: NewRun) -> int:
        """Store a run as PENDING with its first event, in the caller's transaction; return its row's id."""
        hit("accept.before")
        row_id = accept(conn, run, worker_id=self.worker_id, now=self.clock.now(), redactor=self.redactor)
        hit("accept.stored")
        return row_id

    async def cancel(self, run_id: RunId, by: str) -> RunStatus:
        """End a run as CANCELLED unless it has its end; return its status by then. Raises NotFoundError."""
        return (await self.cancel_inside(run_id, by))[0]

    async def cancel_inside(self, run_id: RunId, by: str) -> tuple[RunStatus, Settled | None]:
        """The same; and of a run inside another, what of the outer one is to be started, which rested for it."""
        now = self.clock.now()

        def work(conn: sa.Connection) -> tuple[RunStatus, Settled | None]:
            hit("cancel.before")
            end = RunEnd(RunStatus.CANCELLED)
            settled = end_and_tell(conn, run_id, end, event_data.run_cancelled(by), now, self.worker_id)
            hit("cancel.stored")
            return _status(conn, run_id), settled

        status, settled = await self.database.write(work)
        hit("cancel.after")
        self._hub.ended(run_id)
        self._hear(settled)
        return status, settled

    async def answer(
        self, pause_id: str, given: Given, *, owner_id: str, by: str, actor_id: str | None = None
    ) -> Settled:
        """Store an answer, and that of an approval in the audit log too. Where it gives the run a new segment, that one is
        in no queue yet.

        Raises:
            NotFoundError, PauseAnsweredError, PauseClosedError, InputInvalidError: it is not taken.
        """
        now = self.clock.now()
        said = Given(
            [(question, self.redactor.value(value)) for question, value in given.answers],
            self.redactor.value(given.answer),
            given.action,
        )

        def work(conn: sa.Connection) -> Settled | None:
            hit("answer.before")
            settled = answer(
                conn,
                pause_id,
                said,
                owner_id=owner_id,
                by=by,
                actor_id=actor_id or by,
                now=now,
                worker_id=self.worker_id,
            )
            hit("answer.stored")
            return settled

        settled = await self.database.write(work)
        hit("answer.after")
        if settled is None:
            raise PauseClosedError("The question has expired.", fix="Look at the run: it goes on without an answer.")
        self._hear(settled)
        return settled

    async def expire_due(self, run_id: RunId | None = None) -> Sequence[OpenRun]:
        """End the wait for every answer that did not come in time, of one run or of all.

        Returns the runs whose new segment is to be started.
        """
        now = self.clock.now()
        found = await self.database.read(lambda conn: due(conn, now, run_id))
        settled = [await self._expire(pause_id) for pause_id in found]
        return [
            OpenRun(one.run_id, one.segment, one.status, self.worker_id)
            for one in settled
            if one is not None and one.segment is not None
        ]

    async def hand_back(self, run_id: RunId, epoch: int, enqueue: Enqueue) -> bool:
        """Give up driving a run in order: a new segment, PENDING, in the queue. False where it was not the driver's."""

        def work(conn: sa.Connection) -> bool:
            hit("hand_back.before")
            r = t.workflow_runs.c
            mine = (r.run_uuid == run_id, r.epoch == epoch, r.status == RunStatus.RUNNING.value)
            given = sa.update(t.workflow_runs).where(*mine)
            given = given.values(segment=r.segment + 1, status=RunStatus.PENDING.value, worker_id=None)
            segment = conn.execute(given.returning(r.segment)).scalar_one_or_none()
            if segment is not None:
                enqueue(conn, run_id, segment)
            return segment is not None

        return await self.database.persist(lambda: self.database.write(work))

    async def reissue(self, run_id: RunId, segment: int, enqueue: Enqueue | None) -> int | None:
        """Give a run whose segment is lost a new one, and return it; None where the run moved on meanwhile.

        It goes into the queue, or, without `enqueue`, to this process, which then must start it.
        """

        def work(conn: sa.Connection) -> int | None:
            r = t.workflow_runs.c
            lost = sa.update(t.workflow_runs).where(r.run_uuid == run_id, r.segment == segment, r.status.in_(_DRIVABLE))
            # The status stays: a run that was RUNNING lost its driver, which take-over counts.
            again = lost.values(segment=r.segment + 1, worker_id=None if enqueue else self.worker_id)
            issued = conn.execute(again.returning(r.segment)).scalar_one_or_none()
            if issued is not None and enqueue is not None:
                enqueue(conn, run_id, issued)
            return issued

        return await self.database.write(work)

    async def fail(self, run_id: RunId, epoch: int, error: ErrorInfo) -> bool:
        """End a run FAILED whose driver cannot do it itself. False where it is not the driver's any more."""
        now = self.clock.now()

        def work(conn: sa.Connection) -> Settled | None:
            ended, standing = path_of(conn, run_id)
            message = self.redactor.text(error.message)
            whole = ErrorInfo(error.code, message, error.node or standing, error.field, error.fix)
            end = RunEnd(RunStatus.FAILED, error=whole, path=[*ended, standing] if standing else ended)
            terminal = event_data.workflow_error(end)
            return end_and_tell(conn, run_id, end, terminal, now, self.worker_id, epoch=epoch)

        settled = await self.database.persist(lambda: self.database.write(work))
        self._hub.ended(run_id)
        self._hear(settled)
        return settled is not None

    async def open_runs(self) -> Sequence[OpenRun]:
        """Return every run that is PENDING or RUNNING, without those inside others: these are driven with them."""
        r = t.workflow_runs.c
        found = sa.select(r.run_uuid, r.segment, r.status, r.worker_id).order_by(r.id)
        found = found.where(r.status.in_(_DRIVABLE), r.root_run_id.is_(None))

        def work(conn: sa.Connection) -> list[OpenRun]:
            rows = conn.execute(found).all()
            return [OpenRun(RunId(row.run_uuid), row.segment, RunStatus(row.status), row.worker_id) for row in rows]

        return await self.database.read(work)

    async def segment_of(self, run_id: RunId) -> int | None:
        """Return a run's present segment; None where there is no such run."""
        r = t.workflow_runs.c
        asked = sa.select(r.segment).where(r.run_uuid == run_id)
        return await self.database.read(lambda conn: conn.execute(asked).scalar_one_or_none())

    async def beat(self, *, judges: bool) -> None:
        """Say that this process lives, by the database's clock, and whether it looks for runs of the dead."""
        now = self.clock.now()
        await self.database.write(lambda conn: workers.beat(conn, self.worker_id, now=now, judges=judges))

    async def living_workers(self, lease_seconds: float) -> frozenset[str]:
        """Return the processes whose last beat is younger than a lease."""
        return await self.database.read(lambda conn: workers.living(conn, lease_seconds))

    async def judge(self, lease_seconds: float) -> str | None:
        """Return which of the living looks for runs of the dead."""
        return await self.database.read(lambda conn: workers.judge(conn, lease_seconds))

    async def bury(self, older_than_seconds: float) -> None:
        """Forget the processes that have been dead for so long and that no open run names."""
        await self.database.write(lambda conn: workers.bury(conn, older_than_seconds))

    async def sign_off(self) -> None:
        """Say that this process will not beat any more."""
        await self.database.write(lambda conn: workers.sign_off(conn, self.worker_id))

    async def events_after(self, run_id: RunId, seq: int, limit: int = 500) -> Sequence[StoredEvent]:
        """Return a run's events above `seq`, in order."""
        return await self.database.read(lambda conn: _events_after(conn, run_id, seq, limit))

    # Inside.

    async def _store(self, commit: Commit, rows: CommitRows) -> bool:
        if commit.closes_sub_runs or (commit.inside is not None and (commit.end or commit.rests)):
            now = self.clock.now()
            return await self.database.write(lambda conn: _store_with_others(conn, commit, rows, now))
        if self.database.is_sqlite:
            # A cancelled wait does not undo what lies in the writer's queue, so nothing needs a shield here.
            return await self.database.write_raw(lambda raw: _store_at_point(raw, rows))
        return await asyncio.shield(self._store_on_postgres(rows))

    async def _store_on_postgres(self, rows: CommitRows) -> bool:
        with self.database.naming_trouble(), self.database.counting_commit():
            async with self.database.pool.connection() as connection:
                stored = await store_on_postgres(connection, rows)
            hit(f"{rows.kind}.stored")
            return stored

    async def _refuse_unless_stored(self, rows: CommitRows) -> None:
        """A commit that found no row to update may have been stored by an earlier try, its reply lost.

        Raises:
            FencedError, AnsweredError: it was not.
        """
        r = t.workflow_runs.c
        asked = sa.select(r.epoch, r.step, r.status, r.last_event).where(r.run_uuid == rows.run_id)
        run = await self.database.persist(lambda: self.database.read(lambda conn: conn.execute(asked).one_or_none()))
        if run is None or run.epoch != rows.epoch:
            raise FencedError
        if run.step >= rows.step:
            return
        if rows.rests_at is not None and run.status == RunStatus.RUNNING.value and run.last_event != rows.rests_at:
            raise AnsweredError(run.last_event)
        raise FencedError

    async def _expire(self, pause_id: str) -> Settled | None:
        now = self.clock.now()
        work = partial(expire, pause_id=pause_id, now=now, worker_id=self.worker_id)
        settled = await self.database.write(work)
        self._hear(settled)
        return settled

    def _hear(self, settled: Settled | None) -> None:
        """Wake whoever drives the runs here that this concerns, and their readers."""
        for run_id in () if settled is None else settled.concerned:
            self.changed(run_id)

    def changed(self, run_id: RunId) -> None:
        """Something was done to a run by somebody else than its driver."""
        self.ear.tell(run_id)
        self._hub.changed(run_id)

    async def _tell_outer(self, commit: Commit, inside: Inside) -> None:
        """The progress of a run inside another is that one's progress too, and what it was told is read."""
        if commit.end is not None or commit.rests is not None:
            self._hub.changed(inside.parent_run_id)
        root = inside.root_run_id
        if commit.is_progress and self._suspects.holds(root):
            r = t.workflow_runs.c
            lives = sa.update(t.workflow_runs).where(r.run_uuid == root, r.status == RunStatus.RUNNING.value)
            await self.database.persist(
                lambda: self.database.write(lambda conn: conn.execute(lives.values(deaths=0, step_started=True)))
            )
            self._suspects.clear(root)

    async def _end_exhausted(self, run_id: RunId, epoch: int) -> None:
        error = RecoveryExhaustedError(
            f"The run took its worker down {MAX_DEATHS} times at the same step.",
            fix="Look at the node it stands at: what it does ends the process. Change it, then start the run again.",
        )
        await self.fail(run_id, epoch, error.info)

    async def end_corrupt(self, run_id: RunId, epoch: int, damage: DamagedError) -> StateCorruptError:
        """End a run that cannot be read; return what it ended with."""
        error = StateCorruptError(
            f"What is stored of this run cannot be read: {damage}.",
            fix="Start the run again. Restore the database from a backup if other runs are damaged too.",
        )
        await self.fail(run_id, epoch, error.info)
        return error


def _store_at_point(raw: sqlite3.Connection, rows: CommitRows) -> bool:
    stored = store_on_sqlite(raw, rows)
    hit(f"{rows.kind}.stored")
    return stored


def _store_with_others(conn: sa.Connection, commit: Commit, rows: CommitRows, now: datetime) -> bool:
    """Write a commit that concerns other runs too: the one around it, or what is open inside. Raises FencedError."""
    inside = commit.inside
    outer = None if inside is None else lock_driver(conn, inside.parent_run_id, inside.parent_epoch)
    raw = conn.connection.driver_connection
    stored = store_on_sqlite(raw, rows) if isinstance(raw, sqlite3.Connection) else _store_within(conn, rows)
    if not stored:
        return False
    if commit.closes_sub_runs:
        end_inside(conn, commit.run_id, now)
    status = RunStatus.PAUSED if commit.end is None else commit.end.status
    if inside is not None and outer is not None and (commit.end or commit.rests):
        tell(conn, outer, commit.run_id, inside, status, now)
    hit(f"{rows.kind}.stored")
    return True


def _store_within(conn: sa.Connection, rows: CommitRows) -> bool:
    return store_within(cast("Connection", conn.connection.driver_connection), rows)


def _as_stored(conn: sa.Connection, pauses: Collection[Pause]) -> list[Pause]:
    """What became of pauses; one that stands for sub-runs may not be stored yet."""
    asked = read_pauses(conn, [pause.pause_id for pause in pauses if not pause.ask.waits_for])
    return [*asked, *as_they_are(conn, [pause for pause in pauses if pause.ask.waits_for])]


def _take(conn: sa.Connection, run_id: RunId, segment: int, worker_id: str, now: datetime) -> tuple[int, int] | None:
    """Make this process the driver; return its epoch and the deaths at the present step."""
    wanted = {"wanted": run_id, "at_segment": segment, "driver": worker_id, "at": time_on_wire(now)}
    taken = conn.execute(_TAKE, wanted).one_or_none()
    return (taken.epoch, taken.deaths) if taken is not None else None


def _taking_over() -> sa.Executable:
    r = t.workflow_runs.c
    died = sa.and_(r.status == RunStatus.RUNNING.value, r.step_started)
    deaths = sa.case((died, r.deaths + 1), else_=r.deaths)
    return (
        sa.update(t.workflow_runs)
        .where(
            r.run_uuid == sa.bindparam("wanted"),
            r.segment == sa.bindparam("at_segment"),
            r.status.in_(_DRIVABLE),
            r.root_run_id.is_(None),
        )
        .values(
            epoch=r.epoch + 1,
            status=RunStatus.RUNNING.value,
            worker_id=sa.bindparam("driver"),
            deaths=deaths,
            # A suspect's step begins when it has its turn.
            step_started=deaths == 0,
            started_at=sa.func.coalesce(r.started_at, sa.bindparam("at")),
        )
        .returning(r.epoch, r.deaths)
    )


_TAKE = _taking_over()
"""Built once: SQLAlchemy takes longer to put a statement together than the database to carry it out."""


def _mark_begun(conn: sa.Connection, state: RunState) -> None:
    r = t.workflow_runs.c
    mine = (r.run_uuid == state.run_id, r.epoch == state.epoch)
    conn.execute(sa.update(t.workflow_runs).where(*mine).values(step_started=True))


def _status(conn: sa.Connection, run_id: RunId) -> RunStatus:
    r = t.workflow_runs.c
    status = conn.execute(sa.select(r.status).where(r.run_uuid == run_id)).scalar_one_or_none()
    if status is None:
        raise NotFoundError(f"There is no run {run_id!r}.")
    return RunStatus(status)


def _events_after(conn: sa.Connection, run_id: RunId, seq: int, limit: int) -> list[StoredEvent]:
    r, e = t.workflow_runs.c, t.workflow_run_events.c
    row_id = sa.select(r.id).where(r.run_uuid == run_id).scalar_subquery()
    found = (
        sa.select(e.seq, e.type, e.data_json, e.created_at)
        .where(e.run_id == row_id, e.seq > seq)
        .order_by(e.seq)
        .limit(limit)
    )
    return [
        StoredEvent(run_id, row.seq, EventType(row.type), row.data_json, row.created_at) for row in conn.execute(found)
    ]
