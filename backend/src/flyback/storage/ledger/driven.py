"""The run ledger, as far as drivers use it: fenced, whole steps. After a commit the run's readers are woken."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial

import sqlalchemy as sa

from flyback.domain.answering import has_expired
from flyback.domain.errors import RecoveryExhaustedError, StateCorruptError
from flyback.domain.pause import Pause
from flyback.domain.redaction import Redactor
from flyback.domain.run import ErrorInfo, RunId, RunStatus
from flyback.engine import event_data
from flyback.engine.failpoints import hit
from flyback.engine.log import CallRecord, Commit, Inside, RunEnd, RunLog, RunState
from flyback.engine.ports import Clock
from flyback.storage import tables as t
from flyback.storage.database import Database
from flyback.storage.decode import DamagedError
from flyback.storage.hub import Hub
from flyback.storage.ledger.answers import expire, read_pauses
from flyback.storage.ledger.calls import leave_calls
from flyback.storage.ledger.ear import Ear
from flyback.storage.ledger.ending import path_of
from flyback.storage.ledger.inner import Settled, end_and_tell
from flyback.storage.ledger.rows import kind_of, rows_of
from flyback.storage.ledger.segments import Enqueue, give_back, mark_begun, take
from flyback.storage.ledger.state import read_state
from flyback.storage.ledger.storing import refuse_unless_stored, store
from flyback.storage.ledger.suspects import Suspects
from flyback.storage.ledger.waits import as_they_are

MAX_DEATHS = 5
LISTEN_SECONDS = 1.0
"""How often a driver looks for what another process did to its runs."""


class DrivenLedger(RunLog):
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

    async def take_over(self, run_id: RunId, segment: int) -> RunState | None:
        now = self.clock.now()

        def work(conn: sa.Connection) -> tuple[int, int] | None:
            hit("take_over.before")
            taken = take(conn, run_id, segment, self.worker_id, now)
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
        await self.database.persist(lambda: self.database.write(lambda conn: mark_begun(conn, state)))

    async def leave_calls(self, run_id: RunId, epoch: int, calls: Sequence[CallRecord]) -> None:
        def work(conn: sa.Connection) -> None:
            leave_calls(conn, run_id, epoch, calls)

        await self.database.persist(lambda: self.database.write(work))

    async def commit(self, commit: Commit) -> None:
        hit(f"{kind_of(commit)}.before")
        rows = rows_of(commit, self.clock.now(), self.redactor)
        try:
            stored = await self.database.persist(lambda: store(self.database, commit, rows, self.clock.now()))
            if not stored:
                await refuse_unless_stored(self.database, rows)
        finally:
            if commit.is_progress:
                self._suspects.clear(commit.run_id)
        hit(f"{rows.kind}.after")
        self._hub.committed(commit)
        if commit.inside is not None:
            await self._tell_outer(commit, commit.inside)

    async def hand_back(self, run_id: RunId, epoch: int, enqueue: Enqueue) -> bool:
        """Give up driving a run in order: a new segment, PENDING, in the queue. False where it was not the driver's."""

        def work(conn: sa.Connection) -> bool:
            hit("hand_back.before")
            segment = give_back(conn, run_id, epoch)
            if segment is not None:
                enqueue(conn, run_id, segment)
            return segment is not None

        return await self.database.persist(lambda: self.database.write(work))

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

    async def end_corrupt(self, run_id: RunId, epoch: int, damage: DamagedError) -> StateCorruptError:
        """End a run that cannot be read; return what it ended with."""
        error = StateCorruptError(
            f"What is stored of this run cannot be read: {damage}.",
            fix="Start the run again. Restore the database from a backup if other runs are damaged too.",
        )
        await self.fail(run_id, epoch, error.info)
        return error

    def let_go(self, run_id: RunId) -> None:
        """Say that this process does not drive the run any more, however it ended."""
        self._suspects.clear(run_id)
        self._hub.ended(run_id)

    def changed(self, run_id: RunId) -> None:
        """Something was done to a run by somebody else than its driver."""
        self.ear.tell(run_id)
        self._hub.changed(run_id)

    # Inside.

    def _hear(self, settled: Settled | None) -> None:
        """Wake whoever drives the runs here that this concerns, and their readers."""
        for run_id in () if settled is None else settled.concerned:
            self.changed(run_id)

    async def _expire(self, pause_id: str) -> Settled | None:
        now = self.clock.now()
        work = partial(expire, pause_id=pause_id, now=now, worker_id=self.worker_id)
        settled = await self.database.write(work)
        self._hear(settled)
        return settled

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


def _as_stored(conn: sa.Connection, pauses: Collection[Pause]) -> list[Pause]:
    """What became of pauses; one that stands for sub-runs may not be stored yet."""
    asked = read_pauses(conn, [pause.pause_id for pause in pauses if not pause.ask.waits_for])
    return [*asked, *as_they_are(conn, [pause for pause in pauses if pause.ask.waits_for])]
